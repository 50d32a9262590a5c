// Dot products of one row with each of many rows: the scores of a query, or a product with a matrix that stores its
// columns as rows.
//
//     RowDots(query, keys, stride, count, depth, scores);
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// y[i] = a . rows[i], of `depth` elements; the rows lie `stride` elements apart. Unsigned integers wrap.
void RowDots(const float* a, const float* rows, int64_t stride, int64_t count, int64_t depth, float* y);
void RowDots(const double* a, const double* rows, int64_t stride, int64_t count, int64_t depth, double* y);
void RowDots(const uint32_t* a, const uint32_t* rows, int64_t stride, int64_t count, int64_t depth, uint32_t* y);
void RowDots(const uint64_t* a, const uint64_t* rows, int64_t stride, int64_t count, int64_t depth, uint64_t* y);

}  // namespace epiphyte::cpu::simd
