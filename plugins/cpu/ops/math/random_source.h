// Random numbers for operators. With a seed, they equal those of numpy's RandomState, which ONNX's reference
// implementation uses, and are the same in every run. Without a seed, they differ from run to run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <random>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

class RandomSource {
 public:
  // Same initial state as std::mt19937.
  explicit RandomSource(uint32_t seed) {
    for (uint32_t i = 0; i < kWords; ++i) {
      state_[i] = seed;
      seed = 1812433253u * (seed ^ (seed >> 30)) + i + 1;
    }
  }

  // Uniform number in [0, 1) with 53 bits.
  double Uniform() {
    if (at_ == kUniforms) Refill();
    return uniforms_[at_++];
  }
  // The next n uniform numbers.
  void Uniforms(double* values, int64_t n) {
    while (n > 0) {
      if (at_ == kUniforms) Refill();
      const int64_t count = std::min(n, kUniforms - at_);
      std::copy_n(uniforms_ + at_, count, values);
      at_ += count;
      values += count;
      n -= count;
    }
  }

  // Standard normal number, by the polar method, which gives two at a time.
  double Normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double a, b, square;
    do {
      a = 2.0 * Uniform() - 1.0;
      b = 2.0 * Uniform() - 1.0;
      square = a * a + b * b;
    } while (square >= 1.0 || square == 0.0);
    const double factor = std::sqrt(-2.0 * std::log(square) / square);
    spare_ = factor * a;
    has_spare_ = true;
    return factor * b;
  }

 private:
  static constexpr int64_t kWords = 624, kMiddle = 397;  // state size and offset of the Mersenne twister
  static constexpr int64_t kUniforms = kWords / 2;

  // Computes the next words of the twister (M. Matsumoto, T. Nishimura: Mersenne Twister, 1998) and the uniform numbers
  // from two words each. Separate loops, instead of a word at a time, let the compiler vectorise.
  void Refill() {
    const auto twist = [this](int64_t i, int64_t next, int64_t from) {
      const uint32_t mixed = (state_[i] & 0x80000000u) | (state_[next] & 0x7FFFFFFFu);
      state_[i] = state_[from] ^ (mixed >> 1) ^ ((0u - (mixed & 1u)) & 0x9908B0DFu);
    };
    for (int64_t i = 0; i < kWords - kMiddle; ++i) twist(i, i + 1, i + kMiddle);
    for (int64_t i = kWords - kMiddle; i + 1 < kWords; ++i) twist(i, i + 1, i + kMiddle - kWords);
    twist(kWords - 1, 0, kMiddle - 1);
    uint32_t words[kWords];
    for (int64_t w = 0; w < kWords; ++w) {
      uint32_t word = state_[w];
      word ^= word >> 11;
      word ^= (word << 7) & 0x9D2C5680u;
      word ^= (word << 15) & 0xEFC60000u;
      words[w] = word ^ (word >> 18);
    }
    for (int64_t u = 0; u < kUniforms; ++u) {
      const auto high = static_cast<int32_t>(words[2 * u] >> 5), low = static_cast<int32_t>(words[2 * u + 1] >> 6);
      uniforms_[u] = (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) * (1.0 / 9007199254740992.0);
    }
    at_ = 0;
  }

  uint32_t state_[kWords];
  double uniforms_[kUniforms];
  int64_t at_ = kUniforms;
  double spare_ = 0;
  bool has_spare_ = false;
};

// A node's seed. Old models have it as a float, Dropout as an integer.
class Seed {
 public:
  explicit Seed(const ir::Node& node) {
    const ir::Attribute* attribute = node.Find("seed");
    fixed_ = attribute != nullptr;
    if (!fixed_) {
      value_ = std::random_device()();
    } else if (attribute->type == EP_ATTRIBUTE_INT) {
      value_ = static_cast<uint32_t>(node.Int("seed", 0));
    } else {
      const float seed = node.Float("seed", 0);
      const bool in_range = seed > -9e18f && seed < 9e18f;
      value_ = static_cast<uint32_t>(in_range ? static_cast<int64_t>(seed) : 0);
    }
  }

  // Random numbers for one run.
  RandomSource Start() const {
    return RandomSource(fixed_ ? value_ : value_ + 0x9E3779B9u * runs_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  bool fixed_;
  uint32_t value_;
  mutable std::atomic<uint32_t> runs_ = 0;
};

}  // namespace epiphyte::cpu
