// Storage-only float formats, converted to double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace epiphyte::conformance {

struct Float16 {
  uint16_t bits;

  explicit operator double() const {
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    if (exponent == 31) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
    return sign * std::ldexp(1024 + fraction, exponent - 25);
  }
};

struct Bfloat16 {
  uint16_t bits;

  explicit operator double() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// Relative difference that two roundings of the same number may have; 0 for types with a difference far below any
// tolerance.
template <typename T>
inline constexpr double kUnitInLastPlace = 0;
template <>
inline constexpr double kUnitInLastPlace<Float16> = 1.0 / (1 << 10);
template <>
inline constexpr double kUnitInLastPlace<Bfloat16> = 1.0 / (1 << 7);

}  // namespace epiphyte::conformance
