// Sums of rows, normalizations that use them, and softmax.
#include "plugins/cpu/simd/reduce/normalize.h"

#include <algorithm>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using Normalization = EachTarget;
EPIPHYTE_EACH_TARGET(Normalization);

TEST_P(Normalization, SumsDistancesAndExtremes) {
  const NormalizeLoops& loops = ChosenNormalizeLoops();
  for (int64_t n : Lengths()) {
    GuardedRow<float> x(RandomFloats(n, -2, 3));
    double sum = 0, magnitudes = 0, squares = 0;
    float largest = -kInfinity;
    for (int64_t i = 0; i < n; ++i) {
      sum += x[i];
      magnitudes += std::fabs(x[i]);
      squares += (x[i] - 0.5) * (x[i] - 0.5);
      largest = std::max(largest, x[i]);
    }
    EXPECT_NEAR(loops.sum(x.data(), n), sum, 140 * 0x1p-24 * magnitudes) << n;
    EXPECT_NEAR(loops.sum_of_squared_distances(x.data(), n, 0.5f), squares, 140 * 0x1p-24 * squares) << n;
    EXPECT_EQ(loops.largest(x.data(), n), largest) << n;
  }
}

TEST_P(Normalization, AppliesFactorsAndOffsets) {
  const NormalizeLoops& loops = ChosenNormalizeLoops();
  for (int64_t n : Lengths()) {
    GuardedRow<float> x(RandomFloats(n, -2, 3)), scale(RandomFloats(n, -1, 1, 2)), bias(RandomFloats(n, -1, 1, 3));
    GuardedRow<float> affine(n), scaled(n), biased(x.values());
    loops.affine(x.data(), affine.data(), n, 1.25f, -0.3f);
    loops.normalize(x.data(), scaled.data(), n, 0.4f, 1.7f, scale.data(), nullptr);
    loops.normalize(biased.data(), biased.data(), n, 0.4f, 1.7f, scale.data(), bias.data());
    for (int64_t i = 0; i < n; ++i) {
      const double factor = (static_cast<double>(x[i]) - 0.4f) * 1.7f * scale[i];
      ASSERT_NEAR(affine[i], 1.25 * x[i] - 0.3f, 0x1p-23 * (std::fabs(x[i]) + 1)) << i << " of " << n;
      ASSERT_NEAR(scaled[i], factor, 4 * 0x1p-24 * 6) << i << " of " << n;
      ASSERT_NEAR(biased[i], factor + bias[i], 4 * 0x1p-24 * 7) << i << " of " << n;
    }
  }
}

TEST_P(Normalization, SoftmaxAndItsLogarithm) {
  const NormalizeLoops& loops = ChosenNormalizeLoops();
  for (int64_t n : Lengths()) {
    for (float offset : {0.0f, 300.0f, -300.0f}) {
      std::vector<float> values = RandomFloats(n, -4, 4);
      for (float& value : values) value += offset;
      GuardedRow<float> x(values), y(n), logarithms(n);
      double sum = 0;
      for (float value : values) sum += std::exp(static_cast<double>(value) - offset);
      loops.log_softmax(x.data(), logarithms.data(), n);
      loops.softmax(x.data(), y.data(), n);
      loops.softmax(x.data(), x.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const double log = values[static_cast<size_t>(i)] - offset - std::log(sum);
        ASSERT_NEAR(y[i] / std::exp(log), 1, 2e-6) << i << " of " << n;
        ASSERT_EQ(x[i], y[i]) << "in place, " << i << " of " << n;
        ASSERT_NEAR(logarithms[i], log, 2e-6 * (1 + std::fabs(log))) << i << " of " << n;
      }
    }
  }
}

TEST_P(Normalization, SoftmaxOfSpecialValues) {
  const NormalizeLoops& loops = ChosenNormalizeLoops();
  for (int64_t n : {2, 3, 4, 7, 8, 15, 16, 17, 40}) {
    std::vector<float> values(static_cast<size_t>(n), -kInfinity);
    values[static_cast<size_t>(n / 2)] = 7;
    GuardedRow<float> x(values);
    loops.softmax(x.data(), x.data(), n);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(x[i], i == n / 2 ? 1.0f : 0.0f) << i << " of " << n;

    for (float special : {kNaN, kInfinity}) {
      values = RandomFloats(n, -1, 1);
      values[static_cast<size_t>(n - 1)] = special;
      GuardedRow<float> z(values);
      loops.softmax(z.data(), z.data(), n);
      EXPECT_TRUE(std::isnan(z[n - 1])) << special << " in " << n;
      if (special != special) {
        EXPECT_TRUE(std::isnan(z[0])) << n;
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
