// Strided copies: the elements of a block of any rank from one tensor to another, with strides on both sides.
// Transpose, Slice, Concat, Split, Expand, Tile and DepthToSpace are such copies; strides of the source may be 0
// (repeat) or negative (reverse).
//
//     const int32_t y = r.Output(0, x.type, dims);
//     AddStridedCopy(r, r.InputTensor(0), y, {dims, strides, kit::RowMajorStrides(dims)});
#pragma once

#include <cstdint>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// Element i of `dims` is at from_offset + sum(i * from), and goes to to_offset + sum(i * to): in elements.
struct StridedCopy {
  Dims dims;
  Dims from;
  Dims to;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
};

// Adds the copy between two tensors of the same type. Elements that stay neighbours are moved in units of up to 16
// bytes; transposed matrices go through a workgroup's memory in tiles, on devices where that is fast. Nothing is added
// for a block without elements. What would lie outside of either tensor is an error.
void AddStridedCopy(Recording& r, int32_t from, int32_t to, const StridedCopy& copy);

// Output i, of `dims`, row-major, as a view of tensor `from`.
void OutputView(Recording& r, size_t i, int32_t from, const Dims& dims, const Dims& from_strides,
                int64_t from_offset = 0);

// All elements of `to` become the first one of `value`.
void AddFill(Recording& r, int32_t value, int32_t to);

}  // namespace epiphyte::vulkan
