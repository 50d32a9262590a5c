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

using Block = hn::FixedTag<uint8_t, 16>;
constexpr int64_t kBlock = 16;

// Each step puts elements of two vectors in turn, so that after four of them each vector is a column.
HWY_INLINE void TransposeBlock(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride) {
  const Block d;
  hn::Vec<Block> a[kBlock], b[kBlock];
  for (int i = 0; i < kBlock; ++i) a[i] = hn::LoadU(d, from + i * from_stride);
  const auto step = [d](const hn::Vec<Block>* in, hn::Vec<Block>* out) HWY_ATTR {
    for (int i = 0; i < kBlock / 2; ++i) {
      out[2 * i] = hn::InterleaveLower(d, in[i], in[i + kBlock / 2]);
      out[2 * i + 1] = hn::InterleaveUpper(d, in[i], in[i + kBlock / 2]);
    }
  };
  step(a, b);
  step(b, a);
  step(a, b);
  step(b, a);
  for (int i = 0; i < kBlock; ++i) hn::StoreU(a[i], d, to + i * to_stride);
}

void Transpose(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint8_t* to,
               int64_t to_stride) {
  if (rows == 3 && to_stride == 3) {  // the planes of an image
    const Block d;
    int64_t c = 0;
    for (; c + kBlock <= columns; c += kBlock)
      hn::StoreInterleaved3(hn::LoadU(d, from + c), hn::LoadU(d, from + from_stride + c),
                            hn::LoadU(d, from + 2 * from_stride + c), d, to + 3 * c);
    for (; c < columns; ++c)
      for (int64_t r = 0; r < 3; ++r) to[3 * c + r] = from[r * from_stride + c];
    return;
  }
  // Blocks at the ends reach back.
  const int64_t row_step = rows < kBlock ? rows : kBlock, column_step = columns < kBlock ? columns : kBlock;
  for (int64_t r = 0; r < rows; r += row_step) {
    r = std::min(r, rows - row_step);
    for (int64_t c = 0; c < columns; c += column_step) {
      c = std::min(c, columns - column_step);
      const uint8_t* const source = from + r * from_stride + c;
      uint8_t* const target = to + c * to_stride + r;
      if (row_step == kBlock && column_step == kBlock) {
        TransposeBlock(source, from_stride, target, to_stride);
      } else {
        for (int64_t i = 0; i < row_step; ++i)
          for (int64_t j = 0; j < column_step; ++j) target[j * to_stride + i] = source[i * from_stride + j];
      }
    }
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(Transpose);
void TransposeBytes(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint8_t* to,
                    int64_t to_stride) {
  EPIPHYTE_DISPATCH(Transpose)(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace epiphyte::cpu::simd
#endif
