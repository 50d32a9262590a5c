// Conversion between element types with the semantics of ONNX's Cast.
//
//   - integers become narrower by dropping high bits; from floats they are truncated towards zero;
//   - 4- and 2-bit integers from floats are rounded to nearest even and saturate;
//   - bool is "not zero";
//   - floats round to nearest even; see float_types.hpp for values out of range.
//
// A float outside the integer's range, undefined in C++, gives the integer with only the sign bit set, as on x86.
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
  // For integers of less than a byte. False: round to the nearest value and saturate. True: drop the fraction and the
  // high bits, as for wider integers.
  bool low_bits = false;
};

// Elements of packed types per conversion step. It is a multiple of the elements in a byte, so steps share no byte.
inline constexpr int64_t kConvertChunk = 256;

// Convert elements [begin, begin + n) of a numeric tensor to floats and back. All numeric types except complex ones.
// For packed types, the `begin` of a store is a multiple of kConvertChunk.
void LoadFloats(const Tensor& from, int64_t begin, int64_t n, float* to);
void StoreFloats(const float* from, int64_t begin, int64_t n, Tensor& to, const ConvertOptions& options = {});

// Text of a number: the shortest one that reads back as the same float; infinities are INF and -INF.
std::string FormatFloat(float value);
std::string FormatFloat(double value);
// Numbers from text. They throw when the text is not a number. ParseInteger and ParseUnsigned drop a fraction.
double ParseFloat(const std::string& text);
int64_t ParseInteger(const std::string& text);
uint64_t ParseUnsigned(const std::string& text);

// Converts to a float that rounds like the double to any format of at most 22 significant bits. The lost bits remain as
// a sticky last bit, so rounding twice does no harm.
inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const double magnitude = value < 0 ? -value : value;
  const double rounded = nearest < 0 ? -static_cast<double>(nearest) : static_cast<double>(nearest);
  if (rounded > magnitude) --bits;
  return std::bit_cast<float>(bits | 1u);
}

// Truncates a float through int32 to an integer of at most 32 bits, or through int64 to a wider one.
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

// Converts like static_cast; a float outside the integer's range is converted by TruncateTo.
template <typename To, typename From>
To NumberAs(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return TruncateTo<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// Converts like NumberAs, but saturates to the integer's range; NaN becomes the lowest value.
template <typename To, typename From>
To SaturateTo(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The highest value of a wide type rounds up to a power of two, which is already out of range.
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From kHigh = static_cast<From>(std::numeric_limits<To>::max());
    if (!(value > kLow)) return std::numeric_limits<To>::min();
    return value >= kHigh ? std::numeric_limits<To>::max() : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace epiphyte::cpu
