// BlockMove: DepthToSpace and SpaceToDepth as transposes of six axes. A block's rows and columns are axes of their own.
//
//   const kit::BlockMove move = kit::DepthToSpaceMove(x, node.Int("blocksize", 0), mode == "DCR");
//   // The result is x viewed as move.split, with its axes in the order move.order; its shape is move.dims.
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

struct BlockMove {
  Dims split;  // dimensions of the input, with the block's as dimensions of their own
  Dims order;  // order of those axes in the result
  Dims dims;   // dimensions of the result
};

// The attribute `blocksize`; throws when it is below 1.
int64_t CheckedBlockSize(int64_t size);

// `depth_first` true is mode DCR: the block's elements are the outer part of the channels. False is mode CRD.
BlockMove DepthToSpaceMove(const Dims& x, int64_t block, bool depth_first);
BlockMove SpaceToDepthMove(const Dims& x, int64_t block);

}  // namespace epiphyte::kit
