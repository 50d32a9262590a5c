// Rows of floats to integers of 8 and 16 bits, and back.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// Scale and zero point are the first ones for all elements when `stride` is 0, each element's own when it is 1. Zero
// points are integers of the quantized type.

// y[i] = saturate(round(x[i] / scale) + zero), halves to even; NaN becomes the lowest number.
void QuantizeRow(const float* x, uint8_t* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void QuantizeRow(const float* x, int8_t* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void QuantizeRow(const float* x, uint16_t* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void QuantizeRow(const float* x, int16_t* y, int64_t n, const float* scale, const float* zero, int64_t stride);

// y[i] = (x[i] - zero) * scale
void DequantizeRow(const uint8_t* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void DequantizeRow(const int8_t* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void DequantizeRow(const float* x, float* y, int64_t n, const float* scale, const float* zero,
                   int64_t stride);  // in place, too

// The smallest and the greatest of a row and 0; NaN if there is one in the row.
struct Range {
  float low = 0;
  float high = 0;
};
Range RangeWithZero(const float* x, int64_t n);

}  // namespace epiphyte::cpu::simd
