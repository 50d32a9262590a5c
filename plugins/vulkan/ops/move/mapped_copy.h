// Mapped copies: each axis of the result has a table of where in the source its positions come from. Pad and Resize to
// nearest neighbours are such copies.
//
//     std::vector<AxisMap> maps(x.dims.size());
//     maps[2].positions = kit::PadMap(…);
//     AddMappedCopy(r, r.InputTensor(0), fill, y, maps);
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// By position in the result, the position in the source; -1: the fill. Empty: as it is.
struct AxisMap {
  std::vector<int64_t> positions;
};

// `fill` is a tensor of at least one element, all three are of the same type. There is a map for each axis of `from`.
void AddMappedCopy(Recording& r, int32_t from, int32_t fill, int32_t to, const std::vector<AxisMap>& maps);

// Zero, in the element type.
int32_t ZeroOf(Recording& r, EpElementType type);

}  // namespace epiphyte::vulkan
