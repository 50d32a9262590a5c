// The two loops over the keys of attention: scores of a query, and what they weigh.
//
//     RowDots(query, keys, stride, count, depth, scores);
//     MaskedSoftmax(scores, mask, mask_step, scale, count);
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// y[i] = a . rows[i], of `depth` elements; the rows lie `stride` elements apart.
void RowDots(const float* a, const float* rows, int64_t stride, int64_t count, int64_t depth, float* y);

// scores = softmax(scores * scale + mask), in place. The mask may be null, and one element stands for all when mask_step
// is 0. Where nothing but -infinity is left the result is NaN.
void MaskedSoftmax(float* scores, const float* mask, int64_t mask_step, float scale, int64_t n);

}  // namespace epiphyte::cpu::simd
