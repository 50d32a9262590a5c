// Reference requantization: converts an int32 sum of byte products to a byte.
#pragma once

#include <cmath>
#include <cstdint>

namespace epiphyte::cpu::simd {

// NaN becomes `low`.
inline uint8_t PlainRequantized(int32_t sum, float factor, int32_t zero, int32_t low, int32_t high) {
  const float value = std::nearbyint(static_cast<float>(sum) * factor) + static_cast<float>(zero);
  if (!(value > static_cast<float>(low))) return static_cast<uint8_t>(low);
  return static_cast<uint8_t>(value < static_cast<float>(high) ? static_cast<int32_t>(value) : high);
}

}  // namespace epiphyte::cpu::simd
