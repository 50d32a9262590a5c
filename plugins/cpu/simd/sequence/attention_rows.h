// Softmax of attention scores with a mask. The scores themselves are dot products of rows (row_dots.h).
//
//     MaskedSoftmax(scores, mask, mask_step, scale, count);
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// scores = softmax(scores * scale + mask), in place. The mask may be null. With mask_step 0, one mask element applies
// to all scores. The result is NaN when every masked score is -infinity.
void MaskedSoftmax(float* scores, const float* mask, int64_t mask_step, float scale, int64_t n);

}  // namespace epiphyte::cpu::simd
