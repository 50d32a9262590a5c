// Shapes of operators that give the same elements other dimensions: Reshape, Flatten, Squeeze, Unsqueeze.
//
//   const kit::Dims y = kit::ReshapeDims(x, wanted, node.Int("allowzero", 0) != 0);
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstdint>
#include <span>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// Resolves `wanted`: 0 takes the input's dimension unless `allow_zero`, and -1 takes the remaining elements.
Dims ReshapeDims(const Dims& input, std::span<const int64_t> wanted, bool allow_zero);
// The result is a matrix of the dimensions before the axis and those from the axis on. The axis may equal the rank.
Dims FlattenDims(const Dims& input, int64_t axis);
// Removes `axes`, which must have size 1.
Dims SqueezeDims(const Dims& input, std::span<const int64_t> axes);
// Removes all dimensions of size 1.
Dims SqueezeDims(const Dims& input);
// Inserts dimensions of size 1 at `axes` of the result.
Dims UnsqueezeDims(const Dims& input, std::span<const int64_t> axes);

}  // namespace epiphyte::kit
