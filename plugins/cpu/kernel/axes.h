// Axes: from attributes and inputs, which come from files, to numbers in range.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// `axis` counted from the front; throws when it is not in [-rank, rank).
inline size_t NormalizeAxis(int64_t axis, size_t rank) {
  const int64_t signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) FailOp("axis is {}, expected -{} to {}", axis, rank, signed_rank - 1);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

// For each dimension, whether it is among `axes`.
inline std::vector<bool> AxesMask(std::span<const int64_t> axes, size_t rank) {
  std::vector<bool> mask(rank, false);
  for (int64_t axis : axes) mask[NormalizeAxis(axis, rank)] = true;
  return mask;
}

// The values of a tensor of int32 or int64 that holds numbers of something: axes, lengths, sizes.
inline std::vector<int64_t> ReadIntegers(const Tensor& tensor, std::string_view what) {
  const int64_t count = tensor.Count();
  if (tensor.type == EP_TYPE_INT64) return {tensor.as<int64_t>(), tensor.as<int64_t>() + count};
  if (tensor.type == EP_TYPE_INT32) return {tensor.as<int32_t>(), tensor.as<int32_t>() + count};
  FailOp("{} is {}, expected int64", what, TypeName(tensor.type));
}

// A view of a tensor as [outer, axis, inner].
struct AxisView {
  int64_t outer;
  int64_t size;
  int64_t inner;

  AxisView(const Dims& dims, size_t axis)
      : outer(dims.Count(0, axis)), size(dims[axis]), inner(dims.Count(axis + 1, dims.size())) {}
};

}  // namespace epiphyte::cpu
