#include "plugins/cpu/simd/elementwise/power.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using Powers = EachTarget;
EPIPHYTE_EACH_TARGET(Powers);

// Checks a result to within 0.52 units of the last place of the expected number. Infinities and zeros must be exact.
void ExpectPower(float base, float exponent, float found) {
  const double expected = std::pow(static_cast<double>(base), static_cast<double>(exponent));
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(rounded)) {
    EXPECT_TRUE(std::isnan(found)) << base << " ^ " << exponent << " is " << found;
    return;
  }
  if (std::isinf(rounded) || rounded == 0) {
    EXPECT_EQ(found, rounded) << base << " ^ " << exponent;
    EXPECT_EQ(std::signbit(found), std::signbit(rounded)) << base << " ^ " << exponent;
    return;
  }
  const float step = std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity()) - std::fabs(rounded);
  EXPECT_NEAR(found, expected, 0.52 * step) << base << " ^ " << exponent;
}

TEST_P(Powers, OfRowsOfEveryLength) {
  for (const int64_t n : Lengths()) {
    GuardedRow<float> base(RandomFloats(n, 0.01f, 30, 1)), exponent(RandomFloats(n, -8, 8, 2)), y(n);
    PowerRow(base.data(), 1, exponent.data(), 1, y.data(), n);
    for (int64_t i = 0; i < n; ++i) ExpectPower(base[i], exponent[i], y[i]);
  }
}

TEST_P(Powers, OfOneNumberAndARow) {
  for (const int64_t n : {1, 5, 37}) {
    GuardedRow<float> row(RandomFloats(n, 0.1f, 3, 1)), one(std::vector<float>{0.45f}), y(n);
    PowerRow(row.data(), 1, one.data(), 0, y.data(), n);
    for (int64_t i = 0; i < n; ++i) ExpectPower(row[i], 0.45f, y[i]);
    PowerRow(one.data(), 0, row.data(), 1, y.data(), n);
    for (int64_t i = 0; i < n; ++i) ExpectPower(0.45f, row[i], y[i]);
  }
}

TEST_P(Powers, OverTheWholeRange) {
  const int64_t n = 4096;
  std::mt19937 random(7);
  std::vector<float> bases, exponents;
  for (int64_t i = 0; i < n; ++i) {
    bases.push_back(std::exp2(std::uniform_real_distribution<float>(-126, 127)(random)));
    exponents.push_back(std::uniform_real_distribution<float>(-1.2f, 1.2f)(random));
  }
  for (const float near : {1.0f, 0.99999994f, 1.0000001f, 0.70710677f, 0.7071068f, 1.4142135f})
    for (const float by : {1.0f, -1.0f, 1e6f, -1e6f, 0.5f}) bases.push_back(near), exponents.push_back(by);
  std::vector<float> y(bases.size());
  PowerRow(bases.data(), 1, exponents.data(), 1, y.data(), static_cast<int64_t>(y.size()));
  for (size_t i = 0; i < y.size(); ++i) ExpectPower(bases[i], exponents[i], y[i]);
}

TEST_P(Powers, OfWhatIsNotPositiveAndFinite) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> special = {0.0f,  -0.0f,  1,     -1,       2,         -2,  3,  0.5f,
                                      -0.5f, 1e-40f, 3e38f, infinity, -infinity, nan, 150};
  for (const float exponent : special) {
    std::vector<float> y(special.size());
    PowerRow(special.data(), 1, &exponent, 0, y.data(), static_cast<int64_t>(y.size()));
    for (size_t i = 0; i < y.size(); ++i) {
      const float expected = std::pow(special[i], exponent);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(y[i])) << special[i] << " ^ " << exponent;
      } else {
        EXPECT_FLOAT_EQ(y[i], expected) << special[i] << " ^ " << exponent;
        EXPECT_EQ(std::signbit(y[i]), std::signbit(expected)) << special[i] << " ^ " << exponent;
      }
    }
  }
}

TEST_P(Powers, MayBeInPlace) {
  std::vector<float> x = RandomFloats(100, 0.5f, 2, 1), y = x;
  const float exponent = 1.7f;
  PowerRow(x.data(), 1, &exponent, 0, x.data(), 100);
  for (size_t i = 0; i < x.size(); ++i) ExpectPower(y[i], exponent, x[i]);
}

}  // namespace
}  // namespace epiphyte::cpu::simd
