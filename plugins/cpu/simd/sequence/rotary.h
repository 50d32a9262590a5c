// Rotary embedding: the elements of a head are rotated in pairs, each by its own angle. Element i is paired with
// element i + half or, if interleaved, 2 i with 2 i + 1.
//
//     TurnPairs(x, cosines, sines, y, 32, false);   // 64 elements by 32 angles
//     // y[i] = c[i] x[i] - s[i] x[32 + i], y[32 + i] = s[i] x[i] + c[i] x[32 + i]
//
// 16-bit formats are computed in float and rounded once. Uses fused multiply-add where the CPU has it.
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

// x and y must not overlap.
void TurnPairs(const float* x, const float* cosines, const float* sines, float* y, int64_t half, bool interleaved);
void TurnPairs(const double* x, const double* cosines, const double* sines, double* y, int64_t half, bool interleaved);
void TurnPairs(const kit::Float16* x, const kit::Float16* cosines, const kit::Float16* sines, kit::Float16* y,
               int64_t half, bool interleaved);
void TurnPairs(const kit::BFloat16* x, const kit::BFloat16* cosines, const kit::BFloat16* sines, kit::BFloat16* y,
               int64_t half, bool interleaved);

}  // namespace epiphyte::cpu::simd
