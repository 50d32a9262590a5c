// Rows of bytes, int8 or uint8, that are reduced to one row: pools, depthwise convolutions, and element-wise operators
// on two quantised tensors.
#pragma once

#include <cstdint>

#include "plugins/cpu/simd/gemm/byte_product.h"

namespace epiphyte::cpu::simd {

// y[i] = the greatest of rows[0][i] … rows[count - 1][i]; count > 0.
void MaxOfByteRows(const uint8_t* const* rows, int64_t count, bool is_signed, uint8_t* y, int64_t n);
// y[i] = rows[0][i] + … + rows[count - 1][i].
void SumOfByteRows(const uint8_t* const* rows, int64_t count, bool is_signed, int32_t* y, int64_t n);

// Depthwise convolutions: each channel of the result is a sum of one product per tap.
//
// Weights [channels, taps] are packed in blocks of 64 channels, and within a block in groups of four taps.
inline constexpr int64_t kDepthwiseBlock = 64;
constexpr int64_t DepthwiseBytes(int64_t channels, int64_t taps) {
  return (channels + kDepthwiseBlock - 1) / kDepthwiseBlock * kDepthwiseBlock * ByteSteps(taps) * 4;
}
// `w` is a matrix as for PackBytePanels; its columns are the channels, its rows the taps.
void PackDepthwise(const ByteMatrix& w, const int32_t* subtracted, int8_t* packed, int32_t* sums);

struct ByteDepthwise {
  // One row of `channels` bytes for each tap of each position of the result. Any readable row fills up the last group
  // of four taps.
  const uint8_t* const* rows = nullptr;
  int64_t positions = 0, channels = 0, steps = 0;  // ByteSteps(taps)
  // Positions [run_first, run_end) read the rows of position run_first, shifted by `run_step` bytes from each position
  // to the next. Only the rows of run_first are taken from `rows`.
  int64_t run_first = 0, run_end = 0, run_step = 0;
  uint8_t flip = 0;                       // 0x80: the rows are int8 and count from -128
  const int8_t* weights = nullptr;        // aligned to 64 bytes
  const int32_t* start = nullptr;         // by channel, padded to whole blocks, as `factor` and `bias`
  ByteResult result = ByteResult::kSums;  // this and the fields below are as in ByteProduct
  const float* factor = nullptr;
  const float* bias = nullptr;
  void* y = nullptr;  // [positions, channels]
  int32_t zero = 0, low = 0, high = 255;
};
void RunByteDepthwise(const ByteDepthwise& depthwise);

enum class ByteOperation : uint8_t { kAdd, kMul };
struct QuantParams {
  float scale = 1, zero = 0;
};
struct ByteOperand {
  const uint8_t* data = nullptr;
  int64_t stride = 1;  // 0: the first byte repeats
  QuantParams quant_params;
};
// y[i] = round(op((a[i] - zero) * scale, (b[i] - zero) * scale) / scale) + zero, clamped to [low, high]. a, b and y
// each have their own scale and zero point. `y` may be the data of an operand.
struct ByteCombination {
  ByteOperation operation = ByteOperation::kAdd;
  bool is_signed = false;
  ByteOperand a, b;
  QuantParams y_end;
  int32_t low = 0, high = 255;
  uint8_t* y = nullptr;
  int64_t n = 0;
};
void CombineBytes(const ByteCombination& combination);

// Adds one row of n bytes to each of `rows` rows, as CombineBytes with kAdd does. `y` may be `a`.
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
