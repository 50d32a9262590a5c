// The scaling step of local response normalisation, which takes the sums of squares.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// y = x (bias + factor squares)^-beta, for positive bases; y may be x or the squares.
void ScaleByPower(const float* x, const float* squares, float* y, int64_t n, float bias, float factor, float beta);

}  // namespace epiphyte::cpu::simd
