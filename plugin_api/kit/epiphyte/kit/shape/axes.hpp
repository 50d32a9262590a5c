// Axes: converts axes from attributes and inputs, which come from files, to numbers in range.
//
//   const size_t axis = kit::NormalizeAxis(node.Int("axis", -1), x.size());
//   const kit::AxisView view(x, axis);   // x as [outer, size, inner]
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// `axis` counted from the front. Throws unless it is in [-rank, rank-1].
size_t NormalizeAxis(int64_t axis, size_t rank, std::string_view name = "axis");
// Converts several axes and throws for duplicates.
Dims NormalizeAxes(std::span<const int64_t> axes, size_t rank, std::string_view name = "axes");
// Tells for each dimension whether it is among `axes`. `axes` may have duplicates.
std::vector<bool> AxesMask(std::span<const int64_t> axes, size_t rank);
// Value of the attribute `keepdims`, which must be 0 or 1.
bool CheckedKeepDims(int64_t keepdims);
// The dimensions without those marked in `reduced`, or with 1 in their place if `keep`.
Dims ReducedDims(const Dims& dims, const std::vector<bool>& reduced, bool keep);
// The axes of `perm`. They must be a permutation of the axes of a tensor with dimensions `x`.
Dims NormalizePermutation(std::span<const int64_t> perm, std::span<const int64_t> x);

// A view of a tensor as [outer, size, inner].
struct AxisView {
  int64_t outer;
  int64_t size;
  int64_t inner;

  AxisView(const Dims& dims, size_t axis)
      : outer(dims.Count(0, axis)), size(dims[axis]), inner(dims.Count(axis + 1, dims.size())) {}
};

}  // namespace epiphyte::kit
