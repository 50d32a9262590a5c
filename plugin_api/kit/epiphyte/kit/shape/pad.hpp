// The shape of Pad: what is added to each dimension, or cut off where a pad is below 0.
//
//   const kit::Dims y = kit::PaddedDims(x, before, after);
#pragma once

#include <cstdint>
#include <utility>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// One pad for each dimension on each side. Throws Error(EP_STATUS_INVALID_ARGUMENT) when less than nothing is left.
Dims PaddedDims(const Dims& x, const Dims& before, const Dims& after);

// The pads that give a dimension `wanted` elements, on both sides alike, as CenterCropPad has them: before, after.
std::pair<int64_t, int64_t> CenterPads(int64_t dim, int64_t wanted);

}  // namespace epiphyte::kit
