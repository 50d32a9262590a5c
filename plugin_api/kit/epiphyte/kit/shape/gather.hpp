// The shapes of Gather, GatherElements and GatherND.
//
//   const kit::Dims y = kit::GatherDims(x, indices, kit::NormalizeAxis(axis, x.size()));
//   const kit::GatherNdShape shape(x, indices, batch_dims);
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT). What the indices are is for whoever reads them to check.
#pragma once

#include <cstddef>
#include <cstdint>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// `indices` takes the place of the axis.
Dims GatherDims(const Dims& x, const Dims& indices, size_t axis);

// GatherElements has the shape of its indices, which must lie inside x apart from the axis.
void CheckGatherElements(const Dims& x, const Dims& indices, size_t axis);

// Tuples along the last dimension of `indices` take parts of x; the first `batch` dimensions are common to both.
struct GatherNdShape {
  size_t batch;
  size_t depth;  // numbers in a tuple
  int64_t tuples;
  int64_t run;  // elements that a tuple takes
  Dims dims;    // of the result

  GatherNdShape(const Dims& x, const Dims& indices, int64_t batch_dims);
};

}  // namespace epiphyte::kit
