// A head's elements turned in pairs, each by an angle of its own: element i with element i + half or, interleaved, 2 i
// with 2 i + 1.
//
//     TurnPairs(x, cosines, sines, y, 32, false);   // 64 elements by 32 angles
//     // y[i] = c[i] x[i] - s[i] x[32 + i], y[32 + i] = s[i] x[i] + c[i] x[32 + i]
//
// Formats of 16 bits are computed in float and rounded once. With fused steps where the CPU has them.
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

// x and y overlap nowhere.
void TurnPairs(const float* x, const float* cosines, const float* sines, float* y, int64_t half, bool interleaved);
void TurnPairs(const double* x, const double* cosines, const double* sines, double* y, int64_t half, bool interleaved);
void TurnPairs(const kit::Float16* x, const kit::Float16* cosines, const kit::Float16* sines, kit::Float16* y,
               int64_t half, bool interleaved);
void TurnPairs(const kit::BFloat16* x, const kit::BFloat16* cosines, const kit::BFloat16* sines, kit::BFloat16* y,
               int64_t half, bool interleaved);

}  // namespace epiphyte::cpu::simd
