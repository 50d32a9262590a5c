#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/byte_transpose.cpp"
#include "plugins/cpu/simd/byte_transpose.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/per_target.h"
// After the policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sixteen bytes of a row.
template <typename T>
using Block = hn::FixedTag<T, 16 / sizeof(T)>;
template <typename T>
constexpr int64_t kBlock = 16 / sizeof(T);

// Each step puts elements of two vectors in turn, so that after as many as it takes to get from one element to a vector
// of them each vector is a column.
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
  if (columns == 3 && from_stride == 3) {  // its pixels
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
  // Blocks at the ends reach back. Those that make a line of the cache come one after another.
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
void TransposeBytes(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint8_t* to,
                    int64_t to_stride) {
  EPIPHYTE_DISPATCH(OfBytes)(from, from_stride, rows, columns, to, to_stride);
}
void TransposeBytes(const uint16_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint16_t* to,
                    int64_t to_stride) {
  EPIPHYTE_DISPATCH(OfWords)(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace epiphyte::cpu::simd
#endif
