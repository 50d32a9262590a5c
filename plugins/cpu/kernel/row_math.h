// Sums over a row and the loops that apply them, for normalization. Float rows use simd/reduce/normalize.h, the 16-bit
// formats floats in blocks, double uses double.
//
//     const RowMath rows;
//     const float mean = rows.Sum(x, n) / n;
#pragma once

#include <type_traits>

#include "plugins/cpu/kernel/small_floats.h"
#include "plugins/cpu/simd/reduce/normalize.h"

namespace epiphyte::cpu {

class RowMath {
 public:
  template <typename T>
  Compute<T> Sum(const T* x, int64_t n) const {
    if constexpr (std::is_same_v<T, double>) {
      return SumOf(x, n, [](double value) { return value; });
    } else {
      float sum = 0;
      ForEachPart(x, n, [&](int64_t, int64_t count, const float* part) { sum += loops_.sum(part, count); });
      return sum;
    }
  }

  // Sum of the squared distances from `mean`.
  template <typename T>
  Compute<T> Squares(const T* x, int64_t n, Compute<T> mean) const {
    if constexpr (std::is_same_v<T, double>) {
      return SumOf(x, n, [mean](double value) { return (value - mean) * (value - mean); });
    } else {
      float sum = 0;
      ForEachPart(x, n, [&](int64_t, int64_t count, const float* part) {
        sum += loops_.sum_of_squared_distances(part, count, mean);
      });
      return sum;
    }
  }

  // y = x * factor + offset
  template <typename T>
  void Affine(const T* x, T* y, int64_t n, Compute<T> factor, Compute<T> offset) const {
    if constexpr (std::is_same_v<T, double>) {
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor + offset;
    } else {
      ForEachPart(x, n, [&](int64_t at, int64_t count, const float* part) {
        Store(y + at, count, [&](float* to) { loops_.affine(part, to, count, factor, offset); });
      });
    }
  }

  // y = (x - mean) * inverse * scale + bias; bias may be null. S: type of the result, in which scale and bias are
  // computed.
  template <typename T, typename S>
  void Normalize(const T* x, S* y, int64_t n, Compute<T> mean, Compute<T> inverse, const Compute<S>* scale,
                 const Compute<S>* bias) const {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<S, double>) {
      for (int64_t i = 0; i < n; ++i) {
        const Compute<T> scaled = (static_cast<Compute<T>>(x[i]) - mean) * inverse * static_cast<Compute<T>>(scale[i]);
        y[i] = static_cast<S>(
            static_cast<Compute<S>>(bias == nullptr ? scaled : scaled + static_cast<Compute<T>>(bias[i])));
      }
    } else {
      ForEachPart(x, n, [&](int64_t at, int64_t count, const float* part) {
        Store(y + at, count, [&](float* to) {
          loops_.normalize(part, to, count, mean, inverse, scale + at, bias == nullptr ? nullptr : bias + at);
        });
      });
    }
  }

 private:
  // Several interleaved sums, which are independent and stay smaller than a single one.
  template <typename Value>
  static double SumOf(const double* x, int64_t n, const Value& value) {
    constexpr int64_t kSums = 8;
    double sums[kSums] = {};
    int64_t i = 0;
    for (; i + kSums <= n; i += kSums)
      for (int64_t s = 0; s < kSums; ++s) sums[s] += value(x[i + s]);
    double sum = 0;
    for (; i < n; ++i) sum += value(x[i]);
    for (const double part : sums) sum += part;
    return sum;
  }

  // Calls body(at, count, floats) once for a row of floats, or for each block of a 16-bit row.
  template <typename T, typename Body>
  static void ForEachPart(const T* x, int64_t n, const Body& body) {
    if constexpr (std::is_same_v<T, float>) {
      body(int64_t{0}, n, x);
    } else {
      const SmallFloats<T> small;
      float block[kFloatBlock];
      ForEachFloatBlock(n, [&](int64_t at, int64_t count) {
        small.load(x + at, block, count);
        body(at, count, block);
      });
    }
  }
  // Calls make(floats) to fill y.
  template <typename T, typename Make>
  static void Store(T* y, int64_t n, const Make& make) {
    if constexpr (std::is_same_v<T, float>) {
      make(y);
    } else {
      static_assert(kIsSmallFloat<T>);
      float block[kFloatBlock];
      make(block);
      SmallFloats<T>().store(block, y, n);
    }
  }

  const simd::NormalizeLoops& loops_ = simd::ChosenNormalizeLoops();
};

}  // namespace epiphyte::cpu
