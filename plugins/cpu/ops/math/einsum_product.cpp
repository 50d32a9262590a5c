#include "plugins/cpu/ops/math/einsum_product.h"

#include <algorithm>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/onednn/convolution_call.h"

namespace epiphyte::cpu {
namespace {

using Labels = kit::EinsumLabels;

bool Contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels Join(const Labels& a, const Labels& b, const Labels& c) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

}  // namespace

bool EinsumProduct::Suits(const kit::EinsumShape& shape, const Dims& a, const Dims& b) {
  if (shape.operands.size() != 2) return false;
  const Dims* const dims[] = {&a, &b};
  for (size_t i = 0; i < 2; ++i) {
    const Labels& own = shape.operands[i];
    const Labels& other = shape.operands[1 - i];
    for (size_t d = 0; d < own.size(); ++d) {
      if (std::count(own.begin(), own.end(), own[d]) != 1 || (*dims[i])[d] != shape.sizes.at(own[d])) return false;
      if ((*dims[i])[d] == 0 || (!Contains(other, own[d]) && !Contains(shape.output, own[d]))) return false;
    }
  }
  return true;
}

EinsumProduct::Side EinsumProduct::MakeSide(const Labels& labels, const Dims& dims, const Groups& groups) {
  Side side;
  const Dims strides = kit::RowMajorStrides(dims);
  bool joins = true;
  for (size_t g = 0; g < 3; ++g) {
    side.joined[g] = 1;
    int64_t step = 0;  // stride of the group's last dimension
    for (int label : groups[g]) {
      const auto at = static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
      side.dims.push_back(dims[at]);
      side.strides.push_back(strides[at]);
      side.joined[g] *= dims[at];
      if (dims[at] == 1) continue;
      joins = joins && (step == 0 || step == strides[at] * dims[at]);
      step = strides[at];
    }
    side.steps.push_back(step);
  }
  if (!joins) {
    side.steps.clear();
    return side;
  }
  // oneDNN needs a stride of 1 for rows or columns; a dimension of one element may have any stride.
  if (side.joined[2] == 1) side.steps[2] = side.joined[1] == 1 || side.steps[1] != 1 ? 1 : side.joined[1];
  if (side.joined[1] == 1) side.steps[1] = side.steps[2] == 1 ? side.joined[2] : 1;
  if (side.joined[0] == 1) side.steps[0] = side.joined[1] * side.joined[2];
  if (side.steps[1] != 1 && side.steps[2] != 1) side.steps.clear();
  return side;
}

void EinsumProduct::Describe(Side& side) {
  side.copied = side.copied || side.steps.empty();
  const auto [batch, rows, columns] = side.joined;
  side.desc = StridedDesc(EP_TYPE_FLOAT, {batch, rows, columns},
                          side.copied ? dnnl::memory::dims{rows * columns, columns, 1} : side.steps);
}

EinsumProduct::EinsumProduct(const kit::EinsumShape& shape, const Dims& a, const Dims& b) {
  Labels batch, inner, of_a, of_b;
  for (int label : shape.output) {
    const bool in_a = Contains(shape.operands[0], label), in_b = Contains(shape.operands[1], label);
    (in_a && in_b ? batch : in_a ? of_a : of_b).push_back(label);
  }
  for (int label : shape.operands[0])
    if (!Contains(shape.output, label)) inner.push_back(label);
  swapped_ = !of_b.empty() && shape.output == Join(batch, of_b, of_a);
  const Labels& rows = swapped_ ? of_b : of_a;
  const Labels& columns = swapped_ ? of_a : of_b;
  a_ = MakeSide(shape.operands[swapped_ ? 1 : 0], swapped_ ? b : a, {batch, rows, inner});
  b_ = MakeSide(shape.operands[swapped_ ? 0 : 1], swapped_ ? a : b, {batch, inner, columns});
  y_ = MakeSide(shape.output, shape.y, {batch, rows, columns});
  MakeCall();
}

void EinsumProduct::MakeCall() {
  const auto make = [this] {
    for (Side* side : {&a_, &b_, &y_}) Describe(*side);
    return MatMulDesc(a_.desc, b_.desc, nullptr, y_.desc, UserScratchpad());
  };
  dnnl::matmul::primitive_desc pd;
  bool fast = false;
  try {
    pd = make();
    fast = !IsReference(pd);
  } catch (const dnnl::error& error) {
    ThrowIfNoMemory(error);
  }
  if (!fast) {
    a_.copied = b_.copied = y_.copied = true;
    pd = make();
  }
  call_.Reset(dnnl::matmul(pd), pd.scratchpad_desc());
  call_.Add(DNNL_ARG_SRC, a_.desc);
  call_.Add(DNNL_ARG_WEIGHTS, b_.desc);
  call_.Add(DNNL_ARG_DST, y_.desc);
}

void EinsumProduct::Run(OpContext& context, const Tensor& a, const Tensor& b, Tensor& y) {
  const auto scratch = [&](const Side& side) {
    return static_cast<float*>(context.Scratch(static_cast<uint64_t>(kit::CheckedCount(side.dims)) * sizeof(float)));
  };
  const auto source = [&](const Side& side, const Tensor& tensor) -> const float* {
    if (!side.copied) return tensor.as<float>();
    float* const copy = scratch(side);
    StridedMove(context, side.dims, tensor.as<float>(), side.strides, copy);
    return copy;
  };
  call_.Set(DNNL_ARG_SRC, source(a_, swapped_ ? b : a));
  call_.Set(DNNL_ARG_WEIGHTS, source(b_, swapped_ ? a : b));
  float* const result = y_.copied ? scratch(y_) : y.as<float>();
  call_.Set(DNNL_ARG_DST, result);
  call_.Run(context);
  if (y_.copied)
    StridedMove(context, y_.dims, static_cast<const float*>(result), kit::RowMajorStrides(y_.dims), y.as<float>(),
                y_.strides);
}

}  // namespace epiphyte::cpu
