#include "tests/models/random_weights.h"

#include <cmath>

namespace epiphyte::test {
namespace {

// The finalizer of SplitMix64 turns a counter into well mixed bits.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t Fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

void FillRandom(std::string_view tensor_name, float deviation, float mean, std::span<float> out) {
  const uint64_t seed = Mix(Fnv1a(tensor_name));
  // 24 bits form a signed integer in [-2^23, 2^23), so the only rounding is that of one multiplication.
  const float scale = deviation * std::sqrt(3.0f) / static_cast<float>(1 << 23);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t bits = Mix(seed + 0x9e3779b97f4a7c15ULL * (i + 1));
    out[i] = mean + scale * static_cast<float>(static_cast<int32_t>(bits >> 40) - (1 << 23));
  }
}

float HeDeviation(int64_t fan_in) { return std::sqrt(2.0f / static_cast<float>(fan_in)); }

float XavierDeviation(int64_t fan_in, int64_t fan_out) {
  return std::sqrt(2.0f / static_cast<float>(fan_in + fan_out));
}

}  // namespace epiphyte::test
