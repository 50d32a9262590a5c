#include "epiphyte/kit/shape/attention.hpp"

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::kit {

AttentionShape::AttentionShape(const Dims& q, const Dims& k, const Dims& v, const Dims* past_key,
                               const Dims* past_value, int64_t q_heads, int64_t k_heads) {
  const auto shapes = [&] {
    return "Q, K and V have shapes " + ShapeText(q) + ", " + ShapeText(k) + " and " + ShapeText(v);
  };
  if (q.size() != k.size() || k.size() != v.size() || (q.size() != 3 && q.size() != 4))
    FailArgument(shapes(), ", expected three or four dimensions each");
  heads_first = q.size() == 4;
  batch = q[0];
  heads = heads_first ? q[1] : q_heads;
  kv_heads = heads_first ? k[1] : k_heads;
  if (heads <= 0 || kv_heads <= 0 || heads % kv_heads != 0)
    FailArgument(heads, " query heads can't share ", kv_heads, " heads of keys and values");
  queries = q[heads_first ? 2 : 1];
  fresh = k[heads_first ? 2 : 1];
  size = heads_first ? q[3] : q[2] / heads;
  v_size = heads_first ? v[3] : v[2] / kv_heads;
  const bool fits = heads_first ? k == Dims{batch, kv_heads, fresh, size} && v == Dims{batch, kv_heads, fresh, v_size}
                                : q[2] == heads * size && k == Dims{batch, fresh, kv_heads * size} &&
                                      v == Dims{batch, fresh, kv_heads * v_size};
  if (!fits) FailArgument(shapes(), ", which do not fit ", heads, " and ", kv_heads, " heads");
  past = past_key == nullptr ? 0 : past_key->size() == 4 ? (*past_key)[2] : -1;
  if ((past_key == nullptr) != (past_value == nullptr) ||
      (past_key != nullptr &&
       (!(*past_key == Dims{batch, kv_heads, past, size}) || !(*past_value == Dims{batch, kv_heads, past, v_size}))))
    FailArgument("past_key and past_value must both be there, as [", batch, ",", kv_heads, ",past,size]");
  if (past_key != nullptr) CheckedCount(*past_key);
  total = CheckedAdd(past, fresh);
  CheckedCount(Output());
  CheckedCount(PresentKey());
  CheckedCount(PresentValue());
  CheckedCount(Scores());
}

Dims AttentionShape::Output() const {
  if (heads_first) return {batch, heads, queries, v_size};
  return {batch, queries, CheckedMultiply(heads, v_size)};
}

AttentionMask::AttentionMask(const AttentionShape& shape, const Dims& mask) {
  CheckedCount(mask);
  const Dims limits = shape.Scores();
  int64_t stride = 1;
  for (size_t i = 0; i < 4; ++i) {
    const size_t d = 3 - i;
    const int64_t size = i < mask.size() ? mask[mask.size() - 1 - i] : 1;
    const bool fits = size == limits[d] || size == 1 || (d == 3 && size < limits[d]);
    if (!fits || mask.size() > 4)
      FailArgument("mask has shape ", ShapeText(mask), ", expected one that broadcasts to ", ShapeText(limits));
    strides[d] = size == 1 ? 0 : stride;
    stride *= size;
    if (d == 3) length = size == 1 && shape.total != 1 ? shape.total : size;
  }
}

}  // namespace epiphyte::kit
