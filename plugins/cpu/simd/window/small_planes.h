// The functions of plane_windows.h for planes with so few columns that vectors of their rows would be mostly empty. As
// many planes as a vector has lanes are interleaved first, element by element.
//
//     if (SuitsSmallPlanes(windows)) {
//       std::vector<float> scratch(SmallPlaneScratchFloats(windows));
//       LargestOfSmallPlanes(windows, x, y, planes, scratch.data());
//     }
#pragma once

#include <cstdint>

#include "plugins/cpu/simd/window/plane_windows.h"

namespace epiphyte::cpu::simd {

// Maximum number of planes that are processed together; a thread's share should be a multiple of it.
inline constexpr int64_t kPlanesTogether = 16;

bool SuitsSmallPlanes(const PlaneWindows& windows);
int64_t SmallPlaneScratchFloats(const PlaneWindows& windows);

void LargestOfSmallPlanes(const PlaneWindows& windows, const float* x, float* y, int64_t planes, float* scratch);
void AverageOfSmallPlanes(const PlaneWindows& windows, const float* x, const float* row_counts,
                          const float* column_counts, float* y, int64_t planes, float* scratch);
// Each plane has its own weights, which are contiguous, and its own bias unless `biases` is null.
void ConvolveSmallPlanes(const PlaneWindows& windows, const float* weights, const float* biases, const float* x,
                         float* y, int64_t planes, float* scratch);

}  // namespace epiphyte::cpu::simd
