// Slice: from starts, ends, axes and steps to what is taken of each dimension.
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

// What is taken of one dimension: `count` elements, `step` apart from `start` on.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// What [start:end:step] takes of a dimension, by the rules of ONNX: those of Python, but that what begins before the first
// element when steps go down begins with it. Throws for a step of 0.
SliceRange ResolveSlice(int64_t start, int64_t end, int64_t step, int64_t dim);

struct SliceShape {
  Dims dims;                       // of the result
  std::vector<SliceRange> ranges;  // by dimension of the input
  bool whole = true;               // it is the input, element for element

  // `axes` and `steps` are null where the node has none. Throws Error(EP_STATUS_INVALID_ARGUMENT).
  SliceShape(const Dims& x, std::span<const int64_t> starts, std::span<const int64_t> ends, const Dims* axes,
             const Dims* steps);
};

// Turns the strides of a tensor into those of its slice; the result is where that begins. The slice is not empty.
int64_t ApplySlice(std::span<const SliceRange> ranges, Dims& strides);

}  // namespace epiphyte::kit
