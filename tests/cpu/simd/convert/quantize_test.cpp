#include "plugins/cpu/simd/convert/quantize.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using Quantizing = EachTarget;
EPIPHYTE_EACH_TARGET(Quantizing);
using Dequantizing = EachTarget;
EPIPHYTE_EACH_TARGET(Dequantizing);
using Ranges = EachTarget;
EPIPHYTE_EACH_TARGET(Ranges);

template <typename Q>
Q Plain(float x, float scale, float zero) {
  constexpr float kLow = std::numeric_limits<Q>::min(), kHigh = std::numeric_limits<Q>::max();
  const float value = std::nearbyint(x / scale) + zero;
  if (!(value > kLow)) return std::numeric_limits<Q>::min();
  return static_cast<Q>(value < kHigh ? value : kHigh);
}

template <typename Q>
std::vector<float> Zeros(int64_t n) {
  std::vector<float> zeros = RandomFloats(n, std::numeric_limits<Q>::min(), std::numeric_limits<Q>::max(), 4);
  for (float& zero : zeros) zero = std::nearbyint(zero);
  return zeros;
}

template <typename Q>
void ExpectQuantized(const std::vector<float>& x, int64_t stride) {
  const auto n = static_cast<int64_t>(x.size());
  SCOPED_TRACE(::testing::Message() << n << " numbers, stride " << stride << ", " << sizeof(Q) << " bytes");
  GuardedRow<float> from(x), scale(RandomFloats(stride == 0 ? 1 : n, 0.01f, 2, 3));
  GuardedRow<float> zero(Zeros<Q>(stride == 0 ? 1 : n));
  GuardedRow<Q> y(n);
  QuantizeRow(from.data(), y.data(), n, scale.data(), zero.data(), stride);
  for (int64_t i = 0; i < n; ++i)
    ASSERT_EQ(y[i], Plain<Q>(from[i], scale[i * stride], zero[i * stride])) << from[i] << " at " << i;
}

template <typename Q>
void ExpectEveryRow() {
  for (int64_t n : Lengths()) {
    const float most = 3.0f * std::numeric_limits<Q>::max();
    const std::vector<float> x = RandomFloats(n, -most, most);
    ExpectQuantized<Q>(x, 0);
    if (n > 0) ExpectQuantized<Q>(x, 1);
  }
}

TEST_P(Quantizing, RoundsAndSaturatesBytes) { ExpectEveryRow<uint8_t>(); }
TEST_P(Quantizing, RoundsAndSaturatesSignedBytes) { ExpectEveryRow<int8_t>(); }
TEST_P(Quantizing, RoundsAndSaturatesShorts) { ExpectEveryRow<uint16_t>(); }
TEST_P(Quantizing, RoundsAndSaturatesSignedShorts) { ExpectEveryRow<int16_t>(); }

template <typename Q>
void ExpectEdges() {
  constexpr float kLow = std::numeric_limits<Q>::min(), kHigh = std::numeric_limits<Q>::max();
  std::vector<float> x = {0.0f, -0.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, kHigh, kHigh + 0.5f, kHigh + 1, kLow,
                          kLow - 0.5f, kLow - 1, 0x1p22f, -0x1p22f, 0x1p31f, -0x1p31f, 1e38f, -1e38f, 1e-45f, kInfinity,
                          -kInfinity, std::nanf(""), -std::nanf(""), 8388609.0f, -8388609.0f,
                          // The highest of 16 bits is set, and few others.
                          32767.0f, 32768.0f, 32800.0f, 33023.0f, 65536.0f, -32769.0f, -65400.0f};
  // Five copies of the 33 numbers put each number into several positions of a vector.
  for (int times = 0; times < 4; ++times) x.insert(x.end(), x.begin(), x.begin() + 33);
  for (float zero : {0.0f, 1.0f, 7.0f, kHigh, kLow}) {
    for (float scale : {1.0f, 0.1f, -1.0f, 1e-30f, 1e30f, 0.0f, kInfinity, 1e-39f, -1e-45f, 3e38f, std::nanf("")}) {
      std::vector<Q> y(x.size());
      QuantizeRow(x.data(), y.data(), static_cast<int64_t>(x.size()), &scale, &zero, 0);
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(y[i], Plain<Q>(x[i], scale, zero)) << x[i] << " / " << scale << " + " << zero;
    }
  }
}

// In even rounds, every quotient is halfway between two integers or next to it; in odd rounds, a few are.
TEST_P(Quantizing, RoundsTheMiddleAsDivisionDoes) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const float scale = RandomFloats(1, 0.001f, 0.3f, seed)[0], zero = static_cast<float>(seed % 100);
    std::vector<float> x = RandomFloats(1024, -200 * scale, 200 * scale, seed + 100);
    for (size_t i = 0; i < x.size(); i += seed % 2 == 0 ? 1 : 97) {
      x[i] = (std::floor(x[i] / scale) + 0.5f) * scale;
      for (size_t step = 0; step < i % 4; ++step) x[i] = std::nextafter(x[i], i % 8 < 4 ? -kInfinity : kInfinity);
    }
    std::vector<uint8_t> bytes(x.size());
    std::vector<int8_t> signed_bytes(x.size());
    QuantizeRow(x.data(), bytes.data(), 1024, &scale, &zero, 0);
    QuantizeRow(x.data(), signed_bytes.data(), 1024, &scale, &zero, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(bytes[i], Plain<uint8_t>(x[i], scale, zero)) << x[i] << " / " << scale;
      ASSERT_EQ(signed_bytes[i], Plain<int8_t>(x[i], scale, zero)) << x[i] << " / " << scale;
    }
  }
}

TEST_P(Quantizing, TakesHalvesInfinitiesAndNanToBytes) { ExpectEdges<uint8_t>(); }
TEST_P(Quantizing, TakesHalvesInfinitiesAndNanToSignedBytes) { ExpectEdges<int8_t>(); }
TEST_P(Quantizing, TakesHalvesInfinitiesAndNanToShorts) { ExpectEdges<uint16_t>(); }
TEST_P(Quantizing, TakesHalvesInfinitiesAndNanToSignedShorts) { ExpectEdges<int16_t>(); }

template <typename Q>
void ExpectDequantized(bool in_place) {
  for (int64_t n : Lengths()) {
    for (int64_t stride : {0, 1}) {
      if (n == 0 && stride == 1) continue;
      SCOPED_TRACE(::testing::Message() << n << " numbers, stride " << stride);
      std::vector<Q> numbers(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i)] = static_cast<Q>(i * 37);
      GuardedRow<float> scale(RandomFloats(stride == 0 ? 1 : n, -2, 2, 3)), zero(Zeros<int8_t>(stride == 0 ? 1 : n));
      GuardedRow<Q> x(numbers);
      GuardedRow<float> y(n);
      float* to = y.data();
      if constexpr (std::is_same_v<Q, float>)
        if (in_place) to = x.data();
      DequantizeRow(x.data(), to, n, scale.data(), zero.data(), stride);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(to[i], (static_cast<float>(numbers[static_cast<size_t>(i)]) - zero[i * stride]) * scale[i * stride]);
    }
  }
}

TEST_P(Dequantizing, ScalesBytes) { ExpectDequantized<uint8_t>(false); }
TEST_P(Dequantizing, ScalesSignedBytes) { ExpectDequantized<int8_t>(false); }
TEST_P(Dequantizing, ScalesFloats) { ExpectDequantized<float>(false); }
TEST_P(Dequantizing, ScalesFloatsInPlace) { ExpectDequantized<float>(true); }

TEST_P(Ranges, AreThoseOfTheRowAndZero) {
  for (int64_t n : Lengths()) {
    for (const auto& [low, high] : {std::pair(-3.0f, 5.0f), {2.0f, 5.0f}, {-5.0f, -2.0f}}) {
      GuardedRow<float> x(RandomFloats(n, low, high));
      float lowest = 0, highest = 0;
      for (int64_t i = 0; i < n; ++i) {
        lowest = std::min(lowest, x[i]);
        highest = std::max(highest, x[i]);
      }
      const Range range = RangeWithZero(x.data(), n);
      ASSERT_EQ(range.low, lowest) << n;
      ASSERT_EQ(range.high, highest) << n;
    }
  }
}

TEST_P(Ranges, AreNanWithANanAnywhere) {
  for (int64_t n : {1, 3, 15, 16, 17, 40, 1000}) {
    for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
      std::vector<float> x = RandomFloats(n, -1, 1);
      x[static_cast<size_t>(at)] = std::nanf("");
      const Range range = RangeWithZero(x.data(), n);
      EXPECT_TRUE(std::isnan(range.low) && std::isnan(range.high)) << at << " of " << n;
    }
  }
}

TEST_P(Ranges, ReachInfinity) {
  const std::vector<float> x = {1, kInfinity, 2, -kInfinity, 3};
  const Range range = RangeWithZero(x.data(), 5);
  EXPECT_EQ(range.low, -kInfinity);
  EXPECT_EQ(range.high, kInfinity);
}

}  // namespace
}  // namespace epiphyte::cpu::simd
