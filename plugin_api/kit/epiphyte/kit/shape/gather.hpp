// Shapes of Gather, GatherElements and GatherND.
//
//   const kit::Dims y = kit::GatherDims(x, indices, kit::NormalizeAxis(axis, x.size()));
//   const kit::GatherNdShape shape(x, indices, batch_dims);
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT). They do not see the index values: code that reads these must check them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// The result's shape: x with the axis replaced by the dimensions of `indices`.
Dims GatherDims(const Dims& x, const Dims& indices, size_t axis);

// Checks the shapes of GatherElements. The result has the shape of `indices`, which must not exceed x except along the
// axis.
void CheckGatherElements(const Dims& x, const Dims& indices, size_t axis);

// Each tuple along the last dimension of `indices` selects a part of x. The first `batch` dimensions are common to
// both.
struct GatherNdShape {
  size_t batch;
  size_t depth;  // numbers in a tuple
  int64_t tuples;
  int64_t run;  // elements that a tuple selects
  Dims dims;    // dimensions of the result

  GatherNdShape(const Dims& x, const Dims& indices, int64_t batch_dims);
};

}  // namespace epiphyte::kit
