// Arithmetic that is defined for every value: integers wrap, and an integer divided by zero gives zero. The data comes
// from files, so it must cause neither undefined behaviour nor a trap. kFloats and kOthers name the loops over rows of
// floats and of other numbers (binary.h, number_rows.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "plugins/cpu/simd/elementwise/binary.h"
#include "plugins/cpu/simd/elementwise/number_rows.h"

namespace epiphyte::cpu {

namespace arithmetic_internal {
// Wide enough that integer promotion does not make it signed.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
}  // namespace arithmetic_internal

struct Add {
  static constexpr simd::Binary kFloats = simd::Binary::kAdd;
  static constexpr simd::NumberFunction kOthers = simd::NumberFunction::kAdd;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      using W = arithmetic_internal::Wrapping<T>;
      return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
    } else {
      return a + b;
    }
  }
};
struct Sub {
  static constexpr simd::Binary kFloats = simd::Binary::kSub;
  static constexpr simd::NumberFunction kOthers = simd::NumberFunction::kSub;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      using W = arithmetic_internal::Wrapping<T>;
      return static_cast<T>(static_cast<W>(a) - static_cast<W>(b));
    } else {
      return a - b;
    }
  }
};
struct Mul {
  static constexpr simd::Binary kFloats = simd::Binary::kMul;
  static constexpr simd::NumberFunction kOthers = simd::NumberFunction::kMul;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      using W = arithmetic_internal::Wrapping<T>;
      return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    } else {
      return a * b;
    }
  }
};
// Integer division rounds towards zero.
struct Div {
  static constexpr simd::Binary kFloats = simd::Binary::kDiv;
  static constexpr simd::NumberFunction kOthers = simd::NumberFunction::kDiv;
  static constexpr int kCost = 2;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return T(0);
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub()(T(0), a);
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};
// The greater of two values; NaN if either is NaN, as in numpy.
struct Max {
  static constexpr simd::Binary kFloats = simd::Binary::kMax;
  static constexpr simd::NumberFunction kOthers = simd::NumberFunction::kMax;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) return a < b ? b : a;
    return a >= b || a != a ? a : b;
  }
};
struct Min {
  static constexpr simd::Binary kFloats = simd::Binary::kMin;
  static constexpr simd::NumberFunction kOthers = simd::NumberFunction::kMin;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) return b < a ? b : a;
    return a <= b || a != a ? a : b;
  }
};

// base to the power of an integer, wrapping. A negative power is the reciprocal, rounded towards zero.
template <typename T>
T IntegerPower(T base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (std::is_signed_v<T> && base == static_cast<T>(-1)) return exponent % 2 == 0 ? T(1) : static_cast<T>(-1);
    return 0;
  }
  T result = 1;
  for (uint64_t rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) result = Mul()(result, base);
    base = Mul()(base, base);
  }
  return result;
}

}  // namespace epiphyte::cpu
