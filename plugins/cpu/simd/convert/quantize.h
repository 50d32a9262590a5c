// Rows of floats to integers of 8 and 16 bits, and back.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// With `stride` 0 the first scale and zero point apply to all elements; with 1 each element has its own. Zero points
// are integers of the quantised type.

// y[i] = saturate(round(x[i] / scale) + zero), halves to even; NaN becomes the lowest number.
void QuantizeRow(const float* x, uint8_t* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void QuantizeRow(const float* x, int8_t* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void QuantizeRow(const float* x, uint16_t* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void QuantizeRow(const float* x, int16_t* y, int64_t n, const float* scale, const float* zero, int64_t stride);

// y[i] = (x[i] - zero) * scale
void DequantizeRow(const uint8_t* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void DequantizeRow(const int8_t* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride);
void DequantizeRow(const float* x, float* y, int64_t n, const float* scale, const float* zero,
                   int64_t stride);  // y may be x

// The smallest and the greatest value of a row and 0; NaN if the row has one.
struct Range {
  float low = 0;
  float high = 0;
};
Range RangeWithZero(const float* x, int64_t n);

}  // namespace epiphyte::cpu::simd
