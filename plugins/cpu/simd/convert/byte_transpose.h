// Transpose of a matrix of elements of one, two or four bytes: channels first to channels last, and back.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// to[c * to_stride + r] = from[r * from_stride + c]
void TransposeBytes(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint8_t* to,
                    int64_t to_stride);
void TransposeBytes(const uint16_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint16_t* to,
                    int64_t to_stride);
void TransposeBytes(const uint32_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint32_t* to,
                    int64_t to_stride);

}  // namespace epiphyte::cpu::simd
