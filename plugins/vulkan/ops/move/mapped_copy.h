// Mapped copies: for each axis of the result, a table gives the position in the source of each position. Pad, and
// Resize with nearest neighbours, are such copies.
//
//     std::vector<AxisMap> maps(x.dims.size());
//     maps[2].positions = kit::PadMap(…);
//     AddMappedCopy(r, r.InputTensor(0), fill, y, maps);
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// The source position of each position in the result; -1: the fill value. Empty: all positions stay as they are.
struct AxisMap {
  std::vector<int64_t> positions;
};

// Adds a mapped copy. `fill` has at least one element. The three tensors have the same type. There is a map for each
// axis of `from`.
void AddMappedCopy(Recording& r, int32_t from, int32_t fill, int32_t to, const std::vector<AxisMap>& maps);

// A tensor with one zero of a type.
int32_t ZeroOf(Recording& r, EpElementType type);

}  // namespace epiphyte::vulkan
