// Rows of floats scaled by statistics of the row: normalisations and softmax. y may be x.
//
//     const simd::NormalizeLoops& loops = simd::ChosenNormalizeLoops();
//     const float mean = loops.sum(x, n) / n;
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

struct NormalizeLoops {
  float (*sum)(const float* x, int64_t n);
  float (*largest)(const float* x, int64_t n);  // NaN if the row has one
  float (*sum_of_squared_distances)(const float* x, int64_t n, float from);
  // y = x factor + offset
  void (*affine)(const float* x, float* y, int64_t n, float factor, float offset);
  // y = (x - mean) inverse scale + bias; bias may be null.
  void (*normalize)(const float* x, float* y, int64_t n, float mean, float inverse, const float* scale,
                    const float* bias);
  // y = exp(x) / sum(exp(x)) and its logarithm, without overflow. A NaN makes all of the row NaN.
  void (*softmax)(const float* x, float* y, int64_t n);
  void (*log_softmax)(const float* x, float* y, int64_t n);
};

// The variants for the target that is chosen now (targets.h).
const NormalizeLoops& ChosenNormalizeLoops();

}  // namespace epiphyte::cpu::simd
