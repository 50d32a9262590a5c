// Random numbers for operators. With a seed the numbers are those that numpy's RandomState gives for it, which is what
// ONNX's reference implementation uses, and the same in every run. Without one they differ from run to run.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <random>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

class RandomSource {
 public:
  explicit RandomSource(uint32_t seed) : generator_(seed) {}

  // In [0, 1), 53 bits.
  double Uniform() {
    const uint32_t high = static_cast<uint32_t>(generator_()) >> 5;
    const uint32_t low = static_cast<uint32_t>(generator_()) >> 6;
    return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
  }

  // Standard normal, by the polar method, two at a time.
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
  std::mt19937 generator_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// The seed of a node. Old models have it as a float, Dropout as an integer.
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

  // For one run.
  RandomSource Start() const {
    return RandomSource(fixed_ ? value_ : value_ + 0x9E3779B9u * runs_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  bool fixed_;
  uint32_t value_;
  mutable std::atomic<uint32_t> runs_ = 0;
};

}  // namespace epiphyte::cpu
