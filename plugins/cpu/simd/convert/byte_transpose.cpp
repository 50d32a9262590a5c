#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/convert/byte_transpose.cpp"
#include "plugins/cpu/simd/convert/byte_transpose.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sixteen bytes of a row.
template <typename T>
using Block = hn::FixedTag<T, 16 / sizeof(T)>;
template <typename T>
constexpr int64_t kBlock = 16 / sizeof(T);

// Each step interleaves the elements of two vectors. The number of steps is the base-2 logarithm of the elements of a
// vector; after them each vector is a column.
template <typename T>
HWY_INLINE void TransposeBlock(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  const Block<T> d;
  constexpr int kRows = static_cast<int>(kBlock<T>);
  hn::Vec<Block<T>> a[kRows], b[kRows];
  for (int i = 0; i < kRows; ++i) a[i] = hn::LoadU(d, from + i * from_stride);
  const auto step = [d](const hn::Vec<Block<T>>* in, hn::Vec<Block<T>>* out) HWY_ATTR {
    for (int i = 0; i < kRows / 2; ++i) {
      out[2 * i] = hn::InterleaveLower(d, in[i], in[i + kRows / 2]);
      out[2 * i + 1] = hn::InterleaveUpper(d, in[i], in[i + kRows / 2]);
    }
  };
  step(a, b);
  step(b, a);
  step(a, b);
  if constexpr (kRows == 16) step(b, a);
  for (int i = 0; i < kRows; ++i) hn::StoreU(kRows == 16 ? a[i] : b[i], d, to + i * to_stride);
}

template <typename T>
HWY_INLINE void TransposeMatrix(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to,
                                int64_t to_stride) {
  const Block<T> d;
  constexpr int64_t kStep = kBlock<T>;
  if (rows == 3 && to_stride == 3) {  // the planes of an image
    int64_t c = 0;
    for (; c + kStep <= columns; c += kStep)
      hn::StoreInterleaved3(hn::LoadU(d, from + c), hn::LoadU(d, from + from_stride + c),
                            hn::LoadU(d, from + 2 * from_stride + c), d, to + 3 * c);
    for (; c < columns; ++c)
      for (int64_t r = 0; r < 3; ++r) to[3 * c + r] = from[r * from_stride + c];
    return;
  }
  if (columns == 3 && from_stride == 3) {  // the pixels of an image
    int64_t r = 0;
    for (; r + kStep <= rows; r += kStep) {
      hn::Vec<Block<T>> planes[3];
      hn::LoadInterleaved3(d, from + 3 * r, planes[0], planes[1], planes[2]);
      for (int64_t c = 0; c < 3; ++c) hn::StoreU(planes[c], d, to + c * to_stride + r);
    }
    for (; r < rows; ++r)
      for (int64_t c = 0; c < 3; ++c) to[c * to_stride + r] = from[3 * r + c];
    return;
  }
  // Blocks at the ends reach back. Blocks that form a cache line follow each other.
  constexpr int64_t kLine = 4 * kStep;
  const int64_t row_step = std::min(rows, kStep), column_step = std::min(columns, kStep);
  for (int64_t line = 0; line < rows; line += kLine) {
    const int64_t end = std::min(line + kLine, rows);
    for (int64_t c = 0; c < columns; c += column_step) {
      c = std::min(c, columns - column_step);
      for (int64_t at = line; at < end; at += row_step) {
        const int64_t r = std::min(at, rows - row_step);
        const T* const source = from + r * from_stride + c;
        T* const target = to + c * to_stride + r;
        if (row_step == kStep && column_step == kStep) {
          TransposeBlock(source, from_stride, target, to_stride);
        } else {
          for (int64_t i = 0; i < row_step; ++i)
            for (int64_t j = 0; j < column_step; ++j) target[j * to_stride + i] = source[i * from_stride + j];
        }
      }
    }
  }
}
// Transpose of four-byte elements: as many rows as a vector has elements, four of each, so that whole vectors are
// stored.
using Words = hn::ScalableTag<uint32_t>;

// Loads four elements each of rows 0, 4, 8 …
template <class D>
HWY_INLINE hn::Vec<D> LoadEveryFourth(D d, const uint32_t* from, int64_t from_stride) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  if constexpr (kLanes == 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, LoadEveryFourth(half, from + static_cast<int64_t>(kLanes / 2) * from_stride, from_stride),
                       LoadEveryFourth(half, from, from_stride));
  }
}
template <class D>
HWY_INLINE void TransposeFour(D d, const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  hn::Vec<D> rows[4];
  for (int i = 0; i < 4; ++i) rows[i] = LoadEveryFourth(d, from + i * from_stride, from_stride);
  const auto even_low = hn::InterleaveLower(d, rows[0], rows[2]), odd_low = hn::InterleaveLower(d, rows[1], rows[3]);
  const auto even_high = hn::InterleaveUpper(d, rows[0], rows[2]), odd_high = hn::InterleaveUpper(d, rows[1], rows[3]);
  hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * to_stride);
}
// Transposes rows from `r` on: by vectors of d, then by shorter ones, then one by one. There must be at least four
// columns; the last four may overlap those before.
template <class D>
HWY_INLINE void TransposeRows(D d, const uint32_t* from, int64_t from_stride, int64_t r, int64_t rows, int64_t columns,
                              uint32_t* to, int64_t to_stride) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  for (; r + kLanes <= rows; r += kLanes) {
    for (int64_t at = 0; at < columns; at += 4) {
      const int64_t c = std::min(at, columns - 4);
      TransposeFour(d, from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
  if constexpr (kLanes > 4) {
    TransposeRows(hn::Half<D>(), from, from_stride, r, rows, columns, to, to_stride);
  } else {
    for (; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}
void OfDoubleWords(const uint32_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint32_t* to,
                   int64_t to_stride) {
  if (columns >= 4) return TransposeRows(Words(), from, from_stride, 0, rows, columns, to, to_stride);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
}
void OfBytes(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint8_t* to, int64_t to_stride) {
  TransposeMatrix(from, from_stride, rows, columns, to, to_stride);
}
void OfWords(const uint16_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint16_t* to,
             int64_t to_stride) {
  TransposeMatrix(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(OfBytes);
EPIPHYTE_EXPORT(OfWords);
EPIPHYTE_EXPORT(OfDoubleWords);
void TransposeBytes(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint8_t* to,
                    int64_t to_stride) {
  EPIPHYTE_DISPATCH(OfBytes)(from, from_stride, rows, columns, to, to_stride);
}
void TransposeBytes(const uint16_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint16_t* to,
                    int64_t to_stride) {
  EPIPHYTE_DISPATCH(OfWords)(from, from_stride, rows, columns, to, to_stride);
}
void TransposeBytes(const uint32_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint32_t* to,
                    int64_t to_stride) {
  EPIPHYTE_DISPATCH(OfDoubleWords)(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace epiphyte::cpu::simd
#endif
