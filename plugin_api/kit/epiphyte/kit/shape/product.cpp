#include "epiphyte/kit/shape/product.hpp"

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/broadcast.hpp"

namespace epiphyte::kit {
namespace {

// The batch dimensions, with leading ones up to `rank`.
Dims BatchOf(const Dims& dims, size_t rank) {
  Dims batch(rank, 1);
  const size_t own = dims.size() < 2 ? 0 : dims.size() - 2;
  for (size_t i = 0; i < own; ++i) batch[rank - own + i] = dims[i];
  return batch;
}

}  // namespace

ProductShape::ProductShape(const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) FailArgument("shapes ", ShapeText(a), " and ", ShapeText(b), " can't be multiplied");
  const bool vector_a = a.size() == 1;
  const bool vector_b = b.size() == 1;
  m = vector_a ? 1 : a[a.size() - 2];
  k = a.back();
  n = vector_b ? 1 : b.back();
  const int64_t b_rows = vector_b ? b[0] : b[b.size() - 2];
  if (b_rows != k)
    FailArgument("shapes ", ShapeText(a), " and ", ShapeText(b), " can't be multiplied: ", k, " and ", b_rows);
  const size_t longest = std::max(a.size(), b.size());
  const size_t rank = longest < 2 ? 0 : longest - 2;
  a_batch = BatchOf(a, rank);
  b_batch = BatchOf(b, rank);
  batch = BroadcastShape(a_batch, b_batch);
  y = batch;
  if (!vector_a) y.push_back(m);
  if (!vector_b) y.push_back(n);
  CheckedCount(y);
}

GemmShape::GemmShape(const Dims& a, const Dims& b, bool transpose_a, bool transpose_b) {
  if (a.size() != 2 || b.size() != 2)
    FailArgument("operands of rank ", a.size(), " and ", b.size(), "; matrices expected");
  m = transpose_a ? a[1] : a[0];
  k = transpose_a ? a[0] : a[1];
  n = transpose_b ? b[0] : b[1];
  const int64_t b_rows = transpose_b ? b[1] : b[0];
  if (k != b_rows) FailArgument("inner dimensions ", k, " and ", b_rows, " differ");
  CheckedCount(Dims{m, n});
}

GemmAddend::GemmAddend(const Dims& c, const GemmShape& shape) {
  if (c.size() > 2) FailArgument("C has rank ", c.size(), "; at most 2 expected");
  columns = c.empty() ? 1 : c.back();
  rows = c.size() == 2 ? c[0] : 1;
  if ((rows != 1 && rows != shape.m) || (columns != 1 && columns != shape.n))
    FailArgument("C of ", rows, " x ", columns, " does not broadcast to ", shape.m, " x ", shape.n);
}

}  // namespace epiphyte::kit
