// Sums over a row and the loops that apply them, for normalisations. Float rows go by simd/normalize.h; the 16-bit
// formats are computed in float, double in double.
//
//     const RowMath rows;
//     const float mean = rows.Sum(x, n) / n;
#pragma once

#include <type_traits>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/simd/normalize.h"

namespace epiphyte::cpu {

class RowMath {
 public:
  template <typename T>
  Compute<T> Sum(const T* x, int64_t n) const {
    if constexpr (std::is_same_v<T, float>) {
      return loops_.sum(x, n);
    } else {
      Compute<T> sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += static_cast<Compute<T>>(x[i]);
      return sum;
    }
  }

  // Of the squared distances from `mean`.
  template <typename T>
  Compute<T> Squares(const T* x, int64_t n, Compute<T> mean) const {
    if constexpr (std::is_same_v<T, float>) {
      return loops_.sum_of_squared_distances(x, n, mean);
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
  template <typename T>
  void Affine(const T* x, T* y, int64_t n, Compute<T> factor, Compute<T> offset) const {
    if constexpr (std::is_same_v<T, float>) {
      loops_.affine(x, y, n, factor, offset);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<Compute<T>>(x[i]) * factor + offset);
    }
  }

  // y = (x - mean) * inverse * scale + bias; bias may be null. The result has the type of the scale.
  template <typename T, typename S>
  void Normalize(const T* x, S* y, int64_t n, Compute<T> mean, Compute<T> inverse, const S* scale,
                 const S* bias) const {
    if constexpr (std::is_same_v<T, float> && std::is_same_v<S, float>) {
      loops_.normalize(x, y, n, mean, inverse, scale, bias);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        Compute<T> value = (static_cast<Compute<T>>(x[i]) - mean) * inverse *
                           static_cast<Compute<T>>(static_cast<Compute<S>>(scale[i]));
        if (bias != nullptr) value += static_cast<Compute<T>>(static_cast<Compute<S>>(bias[i]));
        y[i] = static_cast<S>(static_cast<Compute<S>>(value));
      }
    }
  }

 private:
  const simd::NormalizeLoops& loops_ = simd::ChosenNormalizeLoops();
};

}  // namespace epiphyte::cpu
