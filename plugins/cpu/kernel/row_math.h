// Sums over a row and the loops that apply them, for normalisations. Float rows use the widest vectors there are; the
// 16-bit formats are computed in float, double in double.
#pragma once

#include <cmath>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/simd/simd.h"

namespace epiphyte::cpu {

EPIPHYTE_MULTIVERSION inline float SumFloats(const float* x, int64_t n) {
  return ReduceLanes(
      n, 0.0f, [&](int64_t i) { return x[i]; }, [](float a, float b) { return a + b; });
}
EPIPHYTE_MULTIVERSION inline float SumFloatSquares(const float* x, int64_t n, float mean) {
  return ReduceLanes(
      n, 0.0f, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }, [](float a, float b) { return a + b; });
}

template <typename T>
Compute<T> RowSum(const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    return SumFloats(x, n);
  } else {
    Compute<T> sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<Compute<T>>(x[i]);
    return sum;
  }
}

// Of the squared distances from `mean`.
template <typename T>
Compute<T> RowSquares(const T* x, int64_t n, Compute<T> mean) {
  if constexpr (std::is_same_v<T, float>) {
    return SumFloatSquares(x, n, mean);
  } else {
    Compute<T> sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Compute<T> distance = static_cast<Compute<T>>(x[i]) - mean;
      sum += distance * distance;
    }
    return sum;
  }
}

// y = x * factor + offset
EPIPHYTE_MULTIVERSION inline void AffineFloats(const float* x, float* y, int64_t n, float factor, float offset) {
  EPIPHYTE_IN_PLACE_LOOP
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor + offset;
}
template <typename T>
void RowAffine(const T* x, T* y, int64_t n, Compute<T> factor, Compute<T> offset) {
  if constexpr (std::is_same_v<T, float>) {
    AffineFloats(x, y, n, factor, offset);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<Compute<T>>(x[i]) * factor + offset);
  }
}

// y = (x - mean) * inverse * scale + bias; bias may be null. The result has the type of the scale.
EPIPHYTE_MULTIVERSION inline void NormalizeFloats(const float* x, float* y, int64_t n, float mean, float inverse,
                                                  const float* scale, const float* bias) {
  if (bias == nullptr) {
    EPIPHYTE_IN_PLACE_LOOP
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * scale[i];
  } else {
    EPIPHYTE_IN_PLACE_LOOP
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
  }
}
template <typename T, typename S>
void RowNormalize(const T* x, S* y, int64_t n, Compute<T> mean, Compute<T> inverse, const S* scale, const S* bias) {
  if constexpr (std::is_same_v<T, float> && std::is_same_v<S, float>) {
    NormalizeFloats(x, y, n, mean, inverse, scale, bias);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      Compute<T> value =
          (static_cast<Compute<T>>(x[i]) - mean) * inverse * static_cast<Compute<T>>(static_cast<Compute<S>>(scale[i]));
      if (bias != nullptr) value += static_cast<Compute<T>>(static_cast<Compute<S>>(bias[i]));
      y[i] = static_cast<S>(static_cast<Compute<S>>(value));
    }
  }
}

}  // namespace epiphyte::cpu
