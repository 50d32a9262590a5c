// StridedMove: copies an N-dimensional block between two arrangements of the same elements.
//
// Transpose, Slice, Concat, Split, Expand, DepthToSpace … are each one call with the right strides. Source strides may
// be zero (repeat) or negative (reverse). Rows that are contiguous on both sides are copied whole. If the sides have
// different contiguous axes, as in a transpose, the block is copied in tiles that stay in the cache.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#include <xmmintrin.h>
#endif

#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/simd/convert/byte_transpose.h"

namespace epiphyte::cpu {

namespace strided {

template <typename T>
void CopyRow(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
    std::copy_n(from, count, to);
  } else if (to_stride == 1 && from_stride == 0) {
    std::fill_n(to, count, *from);
  } else if (to_stride == 1 && from_stride == 2) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// to[r * to_stride + c] = from[c * from_stride + r]
template <typename T>
void TransposeTile(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows, int64_t columns) {
  if constexpr (sizeof(T) <= 2) {
    using U = std::conditional_t<sizeof(T) == 1, uint8_t, uint16_t>;
    return simd::TransposeBytes(reinterpret_cast<const U*>(from), from_stride, columns, rows, reinterpret_cast<U*>(to),
                                to_stride);
  }
  int64_t r = 0;
#if defined(__SSE2__)
  if constexpr (sizeof(T) == 4 && std::is_trivially_copyable_v<T>) {
    // Interleaves three planes to pixels, four at a time.
    if (columns == 3 && to_stride == 3) {
      for (; r + 4 <= rows; r += 4) {
        const auto load = [&](int64_t plane) {
          const T* source = from + plane * from_stride + r;
          return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
        };
        const auto store = [&](int64_t i, __m128 v) {
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 3 * r + i), _mm_castps_si128(v));
        };
        const __m128 x = load(0), y = load(1), z = load(2);
        const __m128 early = _mm_unpacklo_ps(x, y), late = _mm_unpackhi_ps(x, y);
        store(0, _mm_shuffle_ps(early, _mm_shuffle_ps(z, x, _MM_SHUFFLE(1, 1, 0, 0)), _MM_SHUFFLE(2, 0, 1, 0)));
        store(4, _mm_shuffle_ps(_mm_shuffle_ps(y, z, _MM_SHUFFLE(1, 1, 1, 1)), late, _MM_SHUFFLE(1, 0, 2, 0)));
        store(8, _mm_shuffle_ps(_mm_shuffle_ps(z, late, _MM_SHUFFLE(2, 2, 2, 2)),
                                _mm_shuffle_ps(late, z, _MM_SHUFFLE(3, 3, 3, 3)), _MM_SHUFFLE(2, 0, 2, 0)));
      }
    }
    // Splits three-channel pixels into planes, four at a time.
    if (rows == 3 && from_stride == 3) {
      int64_t c = 0;
      for (; c + 4 <= columns; c += 4) {
        const auto load = [&](int64_t i) {
          return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 3 * c + i)));
        };
        const auto store = [&](int64_t row, __m128 v) {
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to + row * to_stride + c), _mm_castps_si128(v));
        };
        const __m128 first = load(0), second = load(4), third = load(8);              // xyzx, yzxy, zxyz
        const __m128 late = _mm_shuffle_ps(second, third, _MM_SHUFFLE(2, 1, 3, 2));   // xyxy of the last two
        const __m128 early = _mm_shuffle_ps(first, second, _MM_SHUFFLE(1, 0, 2, 1));  // yzyz of the first two
        store(0, _mm_shuffle_ps(first, late, _MM_SHUFFLE(2, 0, 3, 0)));
        store(1, _mm_shuffle_ps(early, late, _MM_SHUFFLE(3, 1, 2, 0)));
        store(2, _mm_shuffle_ps(early, third, _MM_SHUFFLE(3, 0, 3, 1)));
      }
      for (; c < columns; ++c)
        for (int64_t k = 0; k < 3; ++k) to[k * to_stride + c] = from[3 * c + k];
      return;
    }
  }
#endif
  if constexpr (sizeof(T) == 4 && std::is_trivially_copyable_v<T>) {
    if (r == 0)
      return simd::TransposeBytes(reinterpret_cast<const uint32_t*>(from), from_stride, columns, rows,
                                  reinterpret_cast<uint32_t*>(to), to_stride);
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[r * to_stride + c] = from[c * from_stride + r];
}

// Requires that the plan's last axis is contiguous in the target and `rows_axis` in the source.
template <typename T>
void MoveTiles(OpContext& context, kit::StridedBlock plan, size_t rows_axis, const T* from, T* to) {
  const size_t last = plan.dims.size() - 1;
  const int64_t rows = plan.dims[rows_axis], columns = plan.dims[last];
  const int64_t to_stride = plan.to[rows_axis], from_stride = plan.from[last];
  // When one side is short, like the channels of an image, the tile is longer on the other side.
  constexpr int64_t kSide = sizeof(T) <= 2 ? 64 : 32;
  const int64_t tile_rows = columns < kSide ? kSide * kSide / columns / kSide * kSide : kSide;
  const int64_t tile_columns = rows < kSide ? kSide * kSide / rows / kSide * kSide : kSide;
  kit::StridedBlock outer;
  for (size_t i = 0; i < last; ++i) {
    if (i == rows_axis) continue;
    outer.dims.push_back(plan.dims[i]);
    outer.from.push_back(plan.from[i]);
    outer.to.push_back(plan.to[i]);
  }
  // The innermost loops run over strips of rows and over pieces of a strip. A piece has a few tiles.
  constexpr int64_t kPieceBytes = 32 << 10;
  const int64_t tile_bytes = std::min(rows, tile_rows) * tile_columns * static_cast<int64_t>(sizeof(T));
  const int64_t piece = tile_columns * std::max<int64_t>(1, kPieceBytes / tile_bytes);
  const int64_t strips = (rows + tile_rows - 1) / tile_rows, pieces = (columns + piece - 1) / piece;
  outer.dims.push_back(strips);
  outer.from.push_back(tile_rows);
  outer.to.push_back(tile_rows * to_stride);
  outer.dims.push_back(pieces);
  outer.from.push_back(piece * from_stride);
  outer.to.push_back(piece);
  const int64_t items = outer.dims.Count();
  const int64_t item_bytes = std::min(rows, tile_rows) * std::min(columns, piece) * static_cast<int64_t>(sizeof(T));
  Parallel(context, items, MoveGrain(item_bytes), [&](int64_t begin, int64_t end) {
    kit::Odometer at(outer, outer.dims.size(), begin);
    for (int64_t item = begin; item < end; ++item, at.Next()) {
      const int64_t height = std::min(tile_rows, rows - item / pieces % strips * tile_rows);
      const int64_t width = std::min(piece, columns - item % pieces * piece);
      for (int64_t c = 0; c < width; c += tile_columns)
        TransposeTile(from + at.from() + c * from_stride, from_stride, to + at.to() + c, to_stride, height,
                      std::min(tile_columns, width - c));
    }
  });
}

// Counts the texts that `plan` reads.
template <typename T>
void CountTexts(OpContext& context, const kit::StridedBlock& plan, const T* from) {
  kit::Odometer at(plan, plan.dims.size(), 0);
  cpu::CountTexts<T>(context, plan.dims.Count(), [&](int64_t i) -> const T& {
    if (i != 0) at.Next();
    return from[at.from()];
  });
}

}  // namespace strided

// to[sum(i*to_strides)] = from[sum(i*from_strides)] for every index i below dims. The caller has checked that both
// sides stay inside their memory and that targets do not overlap.
template <typename T>
void StridedMove(OpContext& context, const Dims& dims, const T* from, const Dims& from_strides, T* to,
                 const Dims& to_strides) {
  if (dims.Count() == 0) return;
  kit::StridedBlock plan = kit::Simplify(dims, from_strides, to_strides);
  const size_t last = plan.dims.size() - 1;
  strided::CountTexts(context, plan, from);
  // A source that repeats along the last axis goes row by row.
  if (plan.to[last] == 1 && plan.from[last] != 1 && plan.from[last] != 0) {
    const bool pixels = sizeof(T) <= 4 && plan.from[last] == 3;  // three-channel pixels (TransposeTile)
    for (size_t i = 0; i < last; ++i)
      if (plan.from[i] == 1 && plan.dims[i] >= (pixels ? 3 : 4))
        return strided::MoveTiles(context, std::move(plan), i, from, to);
  }
  // Copies rows along the last axis. Long rows are cut, so several threads can copy a single row.
  constexpr int64_t kPieceBytes = 128 << 10;
  constexpr int64_t kPiece = kPieceBytes / static_cast<int64_t>(sizeof(T));
  const int64_t row = plan.dims[last];
  const int64_t pieces = (row + kPiece - 1) / kPiece;
  const int64_t items = plan.dims.Count(0, last) * pieces;
  const int64_t item_bytes = std::min(row, kPiece) * static_cast<int64_t>(sizeof(T));
  Parallel(context, items, MoveGrain(item_bytes), [&](int64_t begin, int64_t end) {
    kit::Odometer at(plan, last, begin / pieces);
    int64_t piece = begin % pieces;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = piece * kPiece;
      strided::CopyRow(from + at.from() + first * plan.from[last], plan.from[last],
                       to + at.to() + first * plan.to[last], plan.to[last], std::min(kPiece, row - first));
      if (++piece == pieces) {
        piece = 0;
        at.Next();
      }
    }
  });
}

// StridedMove to a row-major target.
template <typename T>
void StridedMove(OpContext& context, const Dims& dims, const T* from, const Dims& from_strides, T* to) {
  StridedMove(context, dims, from, from_strides, to, kit::RowMajorStrides(dims));
}

}  // namespace epiphyte::cpu
