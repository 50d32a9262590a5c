// The shapes of operators that give the same elements other dimensions: Reshape, Flatten, Squeeze, Unsqueeze.
//
//   const kit::Dims y = kit::ReshapeDims(x, wanted, node.Int("allowzero", 0) != 0);
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstdint>
#include <span>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// `wanted` with 0 (take the input's dimension, unless `allow_zero`) and -1 (whatever is left) resolved.
Dims ReshapeDims(const Dims& input, std::span<const int64_t> wanted, bool allow_zero);
// A matrix: the dimensions before the axis, and those from it on. The axis may be the rank.
Dims FlattenDims(const Dims& input, int64_t axis);
// Without `axes`, which must be of size 1.
Dims SqueezeDims(const Dims& input, std::span<const int64_t> axes);
// Without any dimension of size 1.
Dims SqueezeDims(const Dims& input);
// With dimensions of size 1 at `axes` of the result.
Dims UnsqueezeDims(const Dims& input, std::span<const int64_t> axes);

}  // namespace epiphyte::kit
