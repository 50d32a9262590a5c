#include "plugins/cpu/simd/sequence/attention_rows.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using MaskedSoftmaxes = EachTarget;
EPIPHYTE_EACH_TARGET(MaskedSoftmaxes);

// Compares with softmax in double. The bound covers the error of exp (1.1 units), of the sum and of the products, and
// the effect on exp of rounding the weighted score, of magnitude 20 at most.
void ExpectSoftmax(int64_t n, int64_t mask_step, bool masked) {
  SCOPED_TRACE(::testing::Message() << n << " scores, mask step " << mask_step << ", masked " << masked);
  const std::vector<float> before = RandomFloats(n, -60, 60, 1), mask = RandomFloats(n, -8, 8, 2);
  GuardedRow<float> scores(before), guarded_mask(mask);
  const float scale = 0.2f;
  MaskedSoftmax(scores.data(), masked ? guarded_mask.data() : nullptr, mask_step, scale, n);
  std::vector<double> expected(static_cast<size_t>(n));
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double shift = !masked ? 0 : mask[mask_step == 0 ? 0 : i];
    most = std::max(most, expected[i] = static_cast<double>(before[i]) * scale + shift);
  }
  for (double& value : expected) sum += value = std::exp(value - most);
  for (int64_t i = 0; i < n; ++i) {
    const double value = expected[static_cast<size_t>(i)] / sum;
    ASSERT_NEAR(scores[i], value, value * 0x1p-24 * (100 + std::sqrt(static_cast<double>(n)))) << i;
  }
}

TEST_P(MaskedSoftmaxes, AreRightForEveryLengthAndMask) {
  for (int64_t n : Lengths()) {
    if (n == 0) continue;
    ExpectSoftmax(n, 0, false);
    ExpectSoftmax(n, 0, true);
    ExpectSoftmax(n, 1, true);
  }
}

TEST_P(MaskedSoftmaxes, GiveMaskedKeysNothing) {
  for (int64_t n : {2, 3, 7, 16, 17, 40}) {
    std::vector<float> scores(static_cast<size_t>(n), 3.0f), mask(static_cast<size_t>(n), -kInfinity);
    mask[1] = 0;
    MaskedSoftmax(scores.data(), mask.data(), 1, 2, n);
    for (size_t i = 0; i < scores.size(); ++i) EXPECT_EQ(scores[i], i == 1 ? 1.0f : 0.0f) << n << ", " << i;
  }
}

// Results go down to the smallest subnormal number.
TEST_P(MaskedSoftmaxes, AreRightFarBelowTheGreatestScore) {
  const float below[] = {0,    -80,     -86.9f, -87.3f,  -87.4f, -88,   -95,   -102,
                         -103, -103.9f, -104,   -104.1f, -105,   -1e4f, -3e38f};
  for (const size_t n : {size_t{2}, size_t{5}, size_t{15}, size_t{31}}) {
    for (const float most : {0.0f, 40.0f}) {
      std::vector<float> scores(n);
      for (size_t i = 0; i < n; ++i) scores[i] = most + below[i == 0 ? 0 : 1 + (i * 7 + n) % (std::size(below) - 1)];
      const std::vector<float> before = scores;
      MaskedSoftmax(scores.data(), nullptr, 0, 1, static_cast<int64_t>(n));
      for (size_t i = 0; i < n; ++i) {
        const double expected = std::exp(static_cast<double>(before[i]) - most);
        EXPECT_NEAR(scores[i], expected, expected * 0x1p-20 + 0x1p-149) << n << " scores of " << most << ", " << i;
      }
    }
  }
}

TEST_P(MaskedSoftmaxes, AreNanWhereNothingIsLeftOrNothingIsANumber) {
  for (int64_t n : {1, 2, 5, 16, 33}) {
    for (float value : {-kInfinity, kInfinity, std::nanf("")}) {
      std::vector<float> scores(static_cast<size_t>(n), value == kInfinity ? 0.0f : value);
      scores[static_cast<size_t>(n / 2)] = value;
      MaskedSoftmax(scores.data(), nullptr, 0, 1, n);
      if (value == kInfinity) {
        EXPECT_TRUE(std::isnan(scores[static_cast<size_t>(n / 2)])) << n;
      } else {
        for (float score : scores) EXPECT_TRUE(std::isnan(score)) << n << " of " << value;
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
