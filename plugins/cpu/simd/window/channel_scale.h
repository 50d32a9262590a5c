// Channels-last tensors times a factor for each channel: batch normalisation after a convolution.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// y[p, c] = x[p, c] * scale[c] + shift[c], for `points` rows of `width` channels; y may be x.
void ScaleChannels(const float* x, const float* scale, const float* shift, float* y, int64_t points, int64_t width);

}  // namespace epiphyte::cpu::simd
