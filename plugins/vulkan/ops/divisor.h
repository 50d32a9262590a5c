// Divisor: the two words with which shaders/divide.glsl divides by a number without a division instruction.
//
//     const Divisor by(columns);
//     parameters.push_back(by.multiplier);
//     parameters.push_back(by.shift);
#pragma once

#include <bit>
#include <cstdint>

namespace epiphyte::vulkan {

// n / divisor = (high word of n * multiplier, plus n) >> shift, for n below 2^31 and 0 < divisor < 2^31.
struct Divisor {
  uint32_t multiplier;
  uint32_t shift;

  explicit constexpr Divisor(int64_t divisor) : multiplier(0), shift(0) {
    const auto d = static_cast<uint64_t>(divisor);
    shift = static_cast<uint32_t>(std::bit_width(d - 1));
    multiplier = static_cast<uint32_t>((((uint64_t{1} << shift) - d) << 32) / d + 1);
  }
};

}  // namespace epiphyte::vulkan
