// Element types that C++ lacks, and their conversions from and to float.
//
// Each is a struct of its bits with explicit conversions, so a kernel computes in float and rounds once:
//
//     Float16 Add(Float16 a, Float16 b) { return Float16(float(a) + float(b)); }
//
// Conversion from float rounds to nearest even. Numbers that are too large become infinity in Float16 and BFloat16. The
// 8-bit formats follow the tables of Cast in ONNX's newest version. With `saturate`, infinity and numbers that are too
// large become the largest finite value. Without it, they become infinity, or NaN in formats without infinity.
//
// Conversions of the 16-bit formats have no branches, so loops over them vectorise.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <bit>
#include <cstdint>

namespace epiphyte::kit {

struct Float16 {
  uint16_t bits;

  Float16() = default;
  explicit Float16(float value) : bits(Encode(value)) {}
  explicit operator float() const {
    const uint32_t magnitude = (bits & 0x7FFFu) << 13;
    // The multiplication is right for subnormals, too: before it, they are subnormal floats.
    const uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const uint32_t finite_or_not = magnitude >= 0x0F800000u ? magnitude | 0x7F800000u : scaled;
    return std::bit_cast<float>(finite_or_not | (bits & 0x8000u) << 16);
  }

 private:
  static uint16_t Encode(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = all & 0x7FFFFFFFu;
    const uint32_t normal = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    // Adding 0.5 leaves the subnormal's bits, rounded, at the end of the mantissa.
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
    const uint32_t special = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
    uint32_t code = magnitude < 0x38800000u ? subnormal : normal;
    code = magnitude >= 0x47800000u ? special : code;
    return static_cast<uint16_t>(code | (all >> 16 & 0x8000u));
  }
};

struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (all + 0x7FFFu + (all >> 16 & 1u)) >> 16;
    const uint32_t nan = all >> 16 | 0x40u;
    bits = static_cast<uint16_t>((all & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// The 8-bit formats with a sign. kMaxCode is the largest finite magnitude; codes above it are infinity or NaN. kFnuz
// formats have no infinity and no negative zero; their NaN is 0x80.
template <int kMantissaBits, int kBias, uint8_t kMaxCode, bool kInfinity, bool kFnuz>
struct Float8 {
  uint8_t bits;

  Float8() = default;
  explicit Float8(float value, bool saturate = true) : bits(Encode(value, saturate)) {}
  explicit operator float() const {
    const uint32_t magnitude = bits & 0x7Fu;
    const float sign = (bits & 0x80u) != 0 ? -1.0f : 1.0f;
    if (kFnuz ? bits == 0x80u : magnitude > kMaxCode) {
      const bool infinite = kInfinity && magnitude == kMaxCode + 1u;
      return infinite ? sign * std::bit_cast<float>(0x7F800000u) : std::bit_cast<float>(0x7FC00000u);
    }
    if (magnitude >> kMantissaBits == 0) {
      return sign * static_cast<float>(magnitude) * std::bit_cast<float>((128u - kBias - kMantissaBits) << 23);
    }
    const uint32_t wide = (magnitude << (23 - kMantissaBits)) + ((127u - kBias) << 23);
    return sign * std::bit_cast<float>(wide);
  }

 private:
  static uint8_t Encode(float value, bool saturate) {
    constexpr int kDropped = 23 - kMantissaBits;
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = all & 0x7FFFFFFFu;
    const uint8_t sign = static_cast<uint8_t>(all >> 24 & 0x80u);
    const uint8_t nan = kFnuz ? 0x80u : static_cast<uint8_t>(sign | 0x7Fu);
    if (magnitude > 0x7F800000u) return nan;
    uint32_t code = 0;
    if (magnitude < (128u - kBias) << 23) {
      // The sum's last mantissa bit is the format's smallest step, so the addition rounds.
      constexpr uint32_t kMagic = (128u - kBias - kMantissaBits + 23u) << 23;
      code = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic)) - kMagic;
    } else {
      const uint32_t half_even = (1u << (kDropped - 1)) - 1u + (magnitude >> kDropped & 1u);
      code = ((magnitude + half_even) >> kDropped) - ((127u - kBias) << kMantissaBits);
    }
    if (code > kMaxCode) {
      if (saturate) return sign | kMaxCode;
      return kInfinity ? static_cast<uint8_t>(sign | (kMaxCode + 1u)) : nan;
    }
    if (kFnuz && code == 0) return 0;
    return static_cast<uint8_t>(sign | code);
  }
};

using Float8E4M3FN = Float8<3, 7, 0x7E, false, false>;
using Float8E4M3FNUZ = Float8<3, 8, 0x7F, false, true>;
using Float8E5M2 = Float8<2, 15, 0x7B, true, false>;
using Float8E5M2FNUZ = Float8<2, 16, 0x7F, false, true>;

// A power of two, 2^(bits - 127), or NaN (0xFF). The format has no sign; the float's sign is dropped.
struct Float8E8M0 {
  enum class Rounding { kUp, kDown, kNearest };
  uint8_t bits;

  Float8E8M0() = default;
  explicit Float8E8M0(float value, bool saturate = true, Rounding rounding = Rounding::kUp) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t exponent = all >> 23 & 0xFFu;
    const uint32_t fraction = all & 0x7FFFFFu;
    bool up = false;
    if (rounding == Rounding::kUp) up = fraction != 0;
    if (rounding == Rounding::kNearest) up = fraction > 0x400000u || (fraction == 0x400000u && exponent > 0);
    if (exponent == 0xFFu || (saturate && exponent == 0xFEu)) up = false;
    bits = static_cast<uint8_t>(exponent + (up ? 1u : 0u));
  }
  explicit operator float() const {
    if (bits == 0xFFu) return std::bit_cast<float>(0x7FC00000u);
    return bits == 0 ? 0x1p-127f : std::bit_cast<float>(static_cast<uint32_t>(bits) << 23);
  }
};

// Four bits in the low half of `bits`: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. Conversion always saturates; NaN
// becomes 6.
struct Float4E2M1 {
  uint8_t bits;

  Float4E2M1() = default;
  explicit Float4E2M1(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const float magnitude = std::bit_cast<float>(all & 0x7FFFFFFFu);
    const bool nan = magnitude != magnitude;
    // Ties go to the even code: the comparisons include the tie where the upper neighbour is even.
    uint8_t code = 7;
    if (magnitude <= 5.0f) code = 6;
    if (magnitude < 3.5f) code = 5;
    if (magnitude <= 2.5f) code = 4;
    if (magnitude < 1.75f) code = 3;
    if (magnitude <= 1.25f) code = 2;
    if (magnitude < 0.75f) code = 1;
    if (magnitude <= 0.25f) code = 0;
    bits = nan ? 7 : static_cast<uint8_t>(code | (all >> 28 & 0x8u));
  }
  explicit operator float() const {
    constexpr float kValues[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    const float magnitude = kValues[bits & 7u];
    return (bits & 8u) != 0 ? -magnitude : magnitude;
  }
};

// Element i of packed data: kBits wide, the first element in the lowest bits of its byte.
template <int kBits>
uint8_t LoadPacked(const uint8_t* data, uint64_t i) {
  constexpr unsigned kPerByte = 8 / kBits;
  return static_cast<uint8_t>(data[i / kPerByte] >> (i % kPerByte * kBits) & ((1u << kBits) - 1u));
}
template <int kBits>
int8_t LoadPackedSigned(const uint8_t* data, uint64_t i) {
  const unsigned value = LoadPacked<kBits>(data, i);
  constexpr unsigned kSign = 1u << (kBits - 1);
  return static_cast<int8_t>(static_cast<int>(value ^ kSign) - static_cast<int>(kSign));
}
// Stores element i and keeps the other elements of the byte.
template <int kBits>
void StorePacked(uint8_t* data, uint64_t i, unsigned value) {
  constexpr unsigned kPerByte = 8 / kBits;
  constexpr unsigned kMask = (1u << kBits) - 1u;
  const unsigned shift = static_cast<unsigned>(i % kPerByte * kBits);
  data[i / kPerByte] = static_cast<uint8_t>((data[i / kPerByte] & ~(kMask << shift)) | (value & kMask) << shift);
}

}  // namespace epiphyte::kit
