// Expand and Tile: results that repeat their input, as moves whose source strides may be 0.
//
//   const kit::ExpandShape expand(x, wanted);
//   StridedMove(expand.dims, from, expand.strides, to, kit::RowMajorStrides(expand.dims));
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

struct ExpandShape {
  Dims dims;     // of the result
  Dims strides;  // of the row-major input along them; 0 where it is repeated

  // `wanted` is what the node asks for; a 1 there keeps the input's dimension.
  ExpandShape(const Dims& x, const Dims& wanted);
};

struct TileShape {
  Dims dims;     // of the result
  Dims move;     // the same, each dimension as two: which repetition, and where in the input
  Dims strides;  // of the row-major input along those

  TileShape(const Dims& x, const Dims& repeats);
};

}  // namespace epiphyte::kit
