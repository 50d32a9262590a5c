// Softmax over a row of floats, in three passes that all vectorise.
#pragma once

#include <cmath>
#include <limits>

#include "plugins/cpu/simd/arithmetic.h"
#include "plugins/cpu/simd/simd.h"
#include "plugins/cpu/simd/vector_math.h"

namespace epiphyte::cpu {

// NaN if there is one.
EPIPHYTE_MULTIVERSION inline float LargestOf(const float* x, int64_t n) {
  return ReduceLanes(
      n, -std::numeric_limits<float>::infinity(), [&](int64_t i) { return x[i]; },
      [](float a, float b) { return Max()(a, b); });
}

// y = exp(x - largest); returns the sum. x and y may be the same.
EPIPHYTE_MULTIVERSION inline float Exponentials(const float* x, float* y, int64_t n, float largest) {
  EPIPHYTE_IN_PLACE_LOOP
  for (int64_t i = 0; i < n; ++i) y[i] = vm::Exp(x[i] - largest);
  return ReduceLanes(
      n, 0.0f, [&](int64_t i) { return y[i]; }, [](float a, float b) { return a + b; });
}

EPIPHYTE_MULTIVERSION inline float SumOfExponentials(const float* x, int64_t n, float largest) {
  return ReduceLanes(
      n, 0.0f, [&](int64_t i) { return vm::Exp(x[i] - largest); }, [](float a, float b) { return a + b; });
}

EPIPHYTE_MULTIVERSION inline void ScaleRow(float* y, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) y[i] *= factor;
}

EPIPHYTE_MULTIVERSION inline void SubtractTwo(const float* x, float* y, int64_t n, float largest, float log) {
  EPIPHYTE_IN_PLACE_LOOP
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - largest - log;
}

inline void SoftmaxRow(const float* x, float* y, int64_t n) {
  ScaleRow(y, n, 1.0f / Exponentials(x, y, n, LargestOf(x, n)));
}

inline void LogSoftmaxRow(const float* x, float* y, int64_t n) {
  const float largest = LargestOf(x, n);
  SubtractTwo(x, y, n, largest, std::log(SumOfExponentials(x, n, largest)));
}

}  // namespace epiphyte::cpu
