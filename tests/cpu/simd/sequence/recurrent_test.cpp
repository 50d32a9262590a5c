#include "plugins/cpu/simd/sequence/recurrent.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using LstmSteps = EachTarget;
EPIPHYTE_EACH_TARGET(LstmSteps);
using GruSteps = EachTarget;
EPIPHYTE_EACH_TARGET(GruSteps);
using StateUpdates = EachTarget;
EPIPHYTE_EACH_TARGET(StateUpdates);

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Bound of the error from `count` roundings of numbers of magnitude `size`: each is at most half a unit in the last
// place.
double Roundings(int count, double size) { return count * 0x1p-24 * size; }

TEST_P(LstmSteps, AreRightForEveryLength) {
  for (int64_t n : Lengths()) {
    SCOPED_TRACE(n);
    const int64_t stride = n + 3;
    GuardedRow<float> gates(RandomFloats(3 * stride + n, -6, 6, 1));
    const std::vector<float> before = RandomFloats(n, -2, 2, 2);
    GuardedRow<float> c(before), h(n);
    LstmStep(gates.data(), stride, c.data(), h.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const double input = Sigmoid(gates[i]), output = Sigmoid(gates[stride + i]);
      const double forget = Sigmoid(gates[2 * stride + i]);
      const double cell = forget * before[static_cast<size_t>(i)] + input * std::tanh(gates[3 * stride + i]);
      ASSERT_NEAR(c[i], cell, Roundings(12, 3)) << i;
      ASSERT_NEAR(h[i], output * std::tanh(cell), Roundings(12, 3)) << i;
    }
  }
}

TEST_P(LstmSteps, ForgetAndKeepAtTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> gates = {infinity, -infinity, infinity, infinity, -infinity, infinity, 100, -100};
  std::vector<float> c = {3, 4}, h(2);
  LstmStep(gates.data(), 2, c.data(), h.data(), 2);
  EXPECT_EQ(c, (std::vector<float>{1, 4}));
  EXPECT_FLOAT_EQ(h[0], std::tanh(1.0f));
  EXPECT_FLOAT_EQ(h[1], std::tanh(4.0f));
}

TEST_P(LstmSteps, PassNanOn) {
  const std::vector<float> gates = {0, std::nanf(""), 0, 0, 0, 0, 0, 0};
  std::vector<float> c = {1, 1}, h(2);
  LstmStep(gates.data(), 2, c.data(), h.data(), 2);
  EXPECT_FALSE(std::isnan(h[0]));
  EXPECT_TRUE(std::isnan(c[1]) && std::isnan(h[1]));
}

TEST_P(GruSteps, AreRightForEveryLength) {
  for (int64_t n : Lengths()) {
    for (bool with_reset : {false, true}) {
      SCOPED_TRACE(::testing::Message() << n << ", reset " << with_reset);
      GuardedRow<float> z(RandomFloats(n, 0, 1, 1)), candidate(RandomFloats(n, -4, 4, 2)),
          product(RandomFloats(n, -4, 4, 3)), reset(RandomFloats(n, 0, 1, 4));
      const std::vector<float> before = RandomFloats(n, -1, 1, 5);
      GuardedRow<float> h(before);
      GruStep(z.data(), candidate.data(), product.data(), with_reset ? reset.data() : nullptr, h.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const double factor = with_reset ? reset[i] : 1;
        const double value = std::tanh(candidate[i] + factor * product[i]);
        ASSERT_NEAR(h[i], (1.0 - z[i]) * value + static_cast<double>(z[i]) * before[static_cast<size_t>(i)],
                    Roundings(8, 8))
            << i;
      }
    }
  }
}

TEST_P(StateUpdates, AreRightForEveryLength) {
  for (int64_t n : Lengths()) {
    SCOPED_TRACE(n);
    GuardedRow<float> a(RandomFloats(n, -1, 1, 1)), b(RandomFloats(n, -1, 1, 2)), p(RandomFloats(n, -1, 1, 3));
    const std::vector<float> before = RandomFloats(n, -1, 1, 4);
    GuardedRow<float> sum(before), cell(before), blend(before);
    MultiplyAdd(a.data(), b.data(), sum.data(), n);
    UpdateCell(a.data(), b.data(), p.data(), cell.data(), n);
    Blend(a.data(), b.data(), blend.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const double x = a[i], y = b[i], q = p[i], old = before[static_cast<size_t>(i)];
      ASSERT_NEAR(sum[i], old + x * y, Roundings(2, 2)) << i;
      ASSERT_NEAR(cell[i], y * old + x * q, Roundings(3, 2)) << i;
      ASSERT_NEAR(blend[i], (1 - x) * y + x * old, Roundings(4, 3)) << i;
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
