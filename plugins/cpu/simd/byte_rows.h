// Rows of bytes, int8 or uint8, that become one: pools, depthwise convolutions, and element-wise operators between two
// quantised tensors.
#pragma once

#include <cstdint>

#include "plugins/cpu/simd/byte_product.h"

namespace epiphyte::cpu::simd {

// y[i] = the greatest of rows[0][i] … rows[count - 1][i]; count > 0.
void MaxOfByteRows(const uint8_t* const* rows, int64_t count, bool is_signed, uint8_t* y, int64_t n);
// The same with sums.
void SumOfByteRows(const uint8_t* const* rows, int64_t count, bool is_signed, int32_t* y, int64_t n);

// Depthwise convolutions: each channel of a result is the sum of as many products as there are taps.
//
// Weights [channels, taps] are packed as vectors multiply them: by blocks of 64 channels, and of these by four taps.
inline constexpr int64_t kDepthwiseBlock = 64;
constexpr int64_t DepthwiseBytes(int64_t channels, int64_t taps) {
  return (channels + kDepthwiseBlock - 1) / kDepthwiseBlock * kDepthwiseBlock * ByteSteps(taps) * 4;
}
// `w` as of PackBytePanels, whose columns are the channels and whose rows the taps.
void PackDepthwise(const ByteMatrix& w, const int32_t* subtracted, int8_t* packed, int32_t* sums);

struct ByteDepthwise {
  // For each position of the result one row of `channels` bytes for each tap, and any row to fill up the last four.
  const uint8_t* const* rows = nullptr;
  int64_t positions = 0, channels = 0, steps = 0;  // ByteSteps(taps)
  // Positions [run_first, run_end) read what the first of them reads, `run_step` bytes behind the one before each; only
  // the first one's rows are looked at.
  int64_t run_first = 0, run_end = 0, run_step = 0;
  uint8_t flip = 0;                       // 0x80: the rows are of int8, and count from -128
  const int8_t* weights = nullptr;        // aligned to 64 bytes
  const int32_t* start = nullptr;         // by channel, to whole blocks, as `factor` and `bias`
  ByteResult result = ByteResult::kSums;  // as of ByteProduct, with what follows
  const float* factor = nullptr;
  const float* bias = nullptr;
  void* y = nullptr;  // [positions, channels]
  int32_t zero = 0, low = 0, high = 255;
};
void RunByteDepthwise(const ByteDepthwise& depthwise);

// y[i] = within low and high, round(op((a[i] - zero) * scale, (b[i] - zero) * scale) / scale) + zero, with the scale
// and the zero point of each; a stride of 0 repeats the first element.
enum class ByteOperation : uint8_t { kAdd, kMul };
struct QuantParams {
  float scale = 1, zero = 0;
};
void CombineBytes(ByteOperation operation, bool is_signed, const uint8_t* a, int64_t a_stride, QuantParams a_end,
                  const uint8_t* b, int64_t b_stride, QuantParams b_end, QuantParams y_end, int32_t low, int32_t high,
                  uint8_t* y, int64_t n);

// The same with kAdd of each of `rows` rows of n bytes and one row; `y` may be `a`.
struct ByteRowSum {
  int64_t rows = 0, n = 0;
  bool is_signed = false;
  const uint8_t* a = nullptr;
  const uint8_t* row = nullptr;
  uint8_t* y = nullptr;
  QuantParams a_end, row_end, y_end;
  int32_t low = 0, high = 255;
};
void AddByteRow(const ByteRowSum& sum);

}  // namespace epiphyte::cpu::simd
