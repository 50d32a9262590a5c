// Powers of floats over rows, as std::pow defines them for every base and exponent. The error is within 0.52 units of
// the last place for normal results.
//
//     PowerRow(base, 1, exponent, 0, y, n);   // y[i] = base[i] ^ exponent[0]
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// Steps are 0 or 1. y may be `base`, where its step is 1, or `exponent`.
void PowerRow(const float* base, int64_t base_step, const float* exponent, int64_t exponent_step, float* y, int64_t n);

}  // namespace epiphyte::cpu::simd
