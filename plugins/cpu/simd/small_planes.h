// What plane_windows.h does, for planes of so few columns that vectors of their rows would be mostly empty: as many
// planes as a vector has lanes are put side by side first, element by element.
//
//     if (SuitsSmallPlanes(windows)) {
//       std::vector<float> scratch(SmallPlaneScratchFloats(windows));
//       LargestOfSmallPlanes(windows, x, y, planes, scratch.data());
//     }
#pragma once

#include <cstdint>

#include "plugins/cpu/simd/plane_windows.h"

namespace epiphyte::cpu::simd {

// Planes that are worked on together at most; a share of the work should be a multiple of it.
inline constexpr int64_t kPlanesTogether = 16;

bool SuitsSmallPlanes(const PlaneWindows& windows);
int64_t SmallPlaneScratchFloats(const PlaneWindows& windows);

void LargestOfSmallPlanes(const PlaneWindows& windows, const float* x, float* y, int64_t planes, float* scratch);
void AverageOfSmallPlanes(const PlaneWindows& windows, const float* x, const float* row_counts,
                          const float* column_counts, float* y, int64_t planes, float* scratch);
// Each plane has weights of its own, one after the other, and a bias unless these are null.
void ConvolveSmallPlanes(const PlaneWindows& windows, const float* weights, const float* biases, const float* x,
                         float* y, int64_t planes, float* scratch);

}  // namespace epiphyte::cpu::simd
