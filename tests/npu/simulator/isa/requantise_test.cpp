#include "plugins/npu/simulator/isa/requantise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace epiphyte::npusim {
namespace {

TEST(Requantise, MultipliersHave31BitsAndComeBackAsTheFactor) {
  for (const double factor : {1.0, 0.5, 0.3, 1e-6, 123.456, 0.999999999999, -0.7}) {
    const FixedPoint f = ToFixedPoint(factor);
    EXPECT_GE(std::abs(int64_t{f.multiplier}), int64_t{1} << 30) << factor;
    EXPECT_NEAR(std::ldexp(f.multiplier, -f.shift) / factor, 1.0, 1e-9) << factor;
  }
}

TEST(Requantise, AFactorThatIsTooSmallIsNone) {
  EXPECT_EQ(ToFixedPoint(0.0), (FixedPoint{0, 1}));
  EXPECT_EQ(Rescale(INT32_MAX, ToFixedPoint(std::ldexp(1.0, -40))), 0);
}

TEST(Requantise, HalvesGoUpwards) {
  const FixedPoint half = ToFixedPoint(0.5);
  EXPECT_EQ(Rescale(1, half), 1);
  EXPECT_EQ(Rescale(-1, half), 0);
  EXPECT_EQ(Rescale(3, half), 2);
  EXPECT_EQ(Rescale(-3, half), -1);
}

TEST(Requantise, IsAtMostOneStepFromTheRealNumber) {
  std::mt19937 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const double factor = std::ldexp(1.0 + random() / 4294967296.0, -static_cast<int>(random() % 24) - 1);
    const auto value = static_cast<int32_t>(random()) >> (random() % 24);
    const double exact = value * factor;
    if (std::fabs(exact) > 1e6) continue;
    EXPECT_LE(std::fabs(static_cast<double>(Rescale(value, ToFixedPoint(factor))) - exact), 0.501) << value;
  }
}

TEST(Requantise, APairOfFactorsHasOneShift) {
  const FixedPointPair pair = ToFixedPointPair(0.25, -3.0);
  EXPECT_NEAR(std::ldexp(pair.a, -pair.shift), 0.25, 1e-8);
  EXPECT_NEAR(std::ldexp(pair.b, -pair.shift), -3.0, 1e-8);
}

}  // namespace
}  // namespace epiphyte::npusim
