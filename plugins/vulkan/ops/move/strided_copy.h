// Strided copies: a block of elements of any rank is copied from one tensor to another, with strides on both sides.
// Transpose, Slice, Concat, Split, Expand, Tile and DepthToSpace are such copies; strides of the source may be 0
// (repeat) or negative (reverse).
//
//     const int32_t y = r.Output(0, x.type, dims);
//     AddStridedCopy(r, r.InputTensor(0), y, {dims, strides, kit::RowMajorStrides(dims)});
#pragma once

#include <cstdint>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// The element with index i of `dims` goes from from_offset + sum(i * from) to to_offset + sum(i * to), all in elements.
struct StridedCopy {
  Dims dims;
  Dims from;
  Dims to;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
};

// Adds the copy between two tensors of the same type. Elements that stay neighbours are moved in units of up to 16
// bytes. Transposed matrices go through workgroup memory in tiles on devices where that is fast. Adds nothing for a
// block without elements. Throws if the block reaches outside of either tensor.
void AddStridedCopy(Recording& r, int32_t from, int32_t to, const StridedCopy& copy);

// Makes output i, row-major and of shape `dims`, a copy of a strided view of tensor `from`.
void OutputView(Recording& r, size_t i, int32_t from, const Dims& dims, const Dims& from_strides,
                int64_t from_offset = 0);

// Fills `to` with the first element of `value`.
void AddFill(Recording& r, int32_t value, int32_t to);

}  // namespace epiphyte::vulkan
