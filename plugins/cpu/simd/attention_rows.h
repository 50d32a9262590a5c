// What scores of attention weigh. The scores themselves are products of rows (row_dots.h).
//
//     MaskedSoftmax(scores, mask, mask_step, scale, count);
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// scores = softmax(scores * scale + mask), in place. The mask may be null, and one element stands for all when
// mask_step is 0. Where nothing but -infinity is left the result is NaN.
void MaskedSoftmax(float* scores, const float* mask, int64_t mask_step, float scale, int64_t n);

}  // namespace epiphyte::cpu::simd
