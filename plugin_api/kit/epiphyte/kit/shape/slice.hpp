// Slice: converts starts, ends, axes and steps to a range for each dimension.
//
//   const kit::SliceShape slice(x, starts, ends, &axes, nullptr);
//   kit::Dims strides = kit::RowMajorStrides(x);
//   const int64_t base = kit::ApplySlice(slice.ranges, strides);   // the slice as a view of x
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// The range of one dimension: `count` elements from `start` on, `step` apart.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// The range that [start:end:step] selects, by the rules of ONNX. These are Python's with one exception: a start before
// the first element with a negative step is the first element. Throws for a step of 0.
SliceRange ResolveSlice(int64_t start, int64_t end, int64_t step, int64_t dim);

struct SliceShape {
  Dims dims;                       // dimensions of the result
  std::vector<SliceRange> ranges;  // one for each dimension of the input
  bool whole = true;               // the slice is the whole input

  // `axes` and `steps` are null if the node has none. Throws Error(EP_STATUS_INVALID_ARGUMENT).
  SliceShape(const Dims& x, std::span<const int64_t> starts, std::span<const int64_t> ends, const Dims* axes,
             const Dims* steps);
};

// Changes the strides of a tensor to those of its slice, and returns the offset of the slice's first element. The slice
// must not be empty.
int64_t ApplySlice(std::span<const SliceRange> ranges, Dims& strides);

}  // namespace epiphyte::kit
