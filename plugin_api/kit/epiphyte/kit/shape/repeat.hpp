// ExpandShape and TileShape: results that repeat their input, as strided moves with source strides that may be 0.
//
//   const kit::ExpandShape expand(x, wanted);
//   StridedMove(expand.dims, from, expand.strides, to, kit::RowMajorStrides(expand.dims));
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

struct ExpandShape {
  Dims dims;     // dimensions of the result
  Dims strides;  // strides of the row-major input along `dims`; 0 where it is repeated

  // `wanted` is the shape that the node asks for; a 1 in it keeps the input's dimension.
  ExpandShape(const Dims& x, const Dims& wanted);
};

struct TileShape {
  Dims dims;     // dimensions of the result
  Dims move;     // dims with each dimension as two: the repetition, and the position in the input
  Dims strides;  // strides of the row-major input along `move`

  TileShape(const Dims& x, const Dims& repeats);
};

}  // namespace epiphyte::kit
