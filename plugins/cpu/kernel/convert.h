// Conversion between element types with the semantics of ONNX's Cast.
//
//   - integers become narrower by dropping high bits; from floats they are truncated towards zero;
//   - 4- and 2-bit integers from floats are rounded to nearest even and saturate;
//   - bool is "not zero";
//   - floats round to nearest even, see float_types.hpp for what is too large.
//
// What C++ leaves undefined (a float that no integer holds) gives the integer with only the sign bit set, as x86 does.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

struct ConvertOptions {
  bool saturate = true;
  Float8E8M0::Rounding rounding = Float8E8M0::Rounding::kUp;
  // Integers of less than a byte: the nearest that there is, or as in wider ones, without the fraction and the bits that
  // don't fit.
  bool low_bits = false;
};

// Elements that packed types are converted at a time; a multiple of what fits in a byte, so chunks share no byte.
inline constexpr int64_t kConvertChunk = 256;

// Elements [begin, begin + n) of a numeric tensor as floats, and back. Any numeric type but the complex ones; for
// packed types the begin of a store is a multiple of kConvertChunk.
void LoadFloats(const Tensor& from, int64_t begin, int64_t n, float* to);
void StoreFloats(const float* from, int64_t begin, int64_t n, Tensor& to, const ConvertOptions& options = {});

// Number and text. Text of a float is the shortest that reads back as the same number; infinities are INF and -INF.
std::string FormatFloat(float value);
std::string FormatFloat(double value);
// They throw when the text is no number. Of a number that is no integer the fraction is cut off.
double ParseFloat(const std::string& text);
int64_t ParseInteger(const std::string& text);
uint64_t ParseUnsigned(const std::string& text);

// A float with the same rounding to any format of at most 22 significant bits as the double: the bits that are lost are
// kept as a sticky last bit, so that rounding twice does no harm.
inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const double magnitude = value < 0 ? -value : value;
  const double rounded = nearest < 0 ? -static_cast<double>(nearest) : static_cast<double>(nearest);
  if (rounded > magnitude) --bits;
  return std::bit_cast<float>(bits | 1u);
}

// A float truncated to an integer of at most 32 bits, through int32; or of more, through int64.
template <typename T, typename F>
T TruncateTo(F value) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (value >= F(0x1p63)) return value < F(0x1p64) ? static_cast<uint64_t>(value) : uint64_t{1} << 63;
  }
  using Via = std::conditional_t<(sizeof(T) < 4) || std::is_same_v<T, int32_t>, int32_t, int64_t>;
  constexpr F kLimit = sizeof(Via) == 4 ? F(0x1p31) : F(0x1p63);
  const bool fits = value < kLimit && value >= -kLimit;
  return static_cast<T>(fits ? static_cast<Via>(value) : std::numeric_limits<Via>::min());
}

// A number as one of another type: what static_cast gives, and of a float that no integer holds what TruncateTo does.
template <typename To, typename From>
To NumberAs(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return TruncateTo<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// The same for results that keep to the range of an integer type; NaN is the lowest.
template <typename To, typename From>
To SaturateTo(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The highest of a wide type rounds up to a power of two, which is out of range already.
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From kHigh = static_cast<From>(std::numeric_limits<To>::max());
    if (!(value > kLow)) return std::numeric_limits<To>::min();
    return value >= kHigh ? std::numeric_limits<To>::max() : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace epiphyte::cpu
