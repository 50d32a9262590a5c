// DepthToSpace and SpaceToDepth: transposes of six axes, in which a block's rows and columns are axes of their own.
//
//   const kit::BlockMove move = kit::DepthToSpaceMove(x, node.Int("blocksize", 0), mode == "DCR");
//   // x, seen as move.split, with its axes in the order move.order, is the result: move.dims
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

struct BlockMove {
  Dims split;  // the input's dimensions, with the block's as their own
  Dims order;  // of those axes in the result
  Dims dims;   // of the result
};

// The attribute, which must be at least 1.
int64_t CheckedBlockSize(int64_t size);

// `depth_first`: mode DCR, where the block's elements are the outer part of the channels; else CRD.
BlockMove DepthToSpaceMove(const Dims& x, int64_t block, bool depth_first);
BlockMove SpaceToDepthMove(const Dims& x, int64_t block);

}  // namespace epiphyte::kit
