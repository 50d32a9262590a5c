// Functions of one float: results for floats of every magnitude, and rows of every length.
#include "plugins/cpu/simd/elementwise/unary.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

// A function and its error bound: `units` in the last place of the result, plus `part` * |x|.
struct Case {
  const char* name;
  Unary function;
  std::function<double(double)> expected;
  double units = 0.5;
  double part = 0;
  float a = 0;
  float b = 0;
};

// Bound of the error from a subnormal factor; it is multiplied by |x|.
constexpr double kSubnormal = 0x1p-148;

double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double Sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
double Clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
double NaNOr(double x, double other) { return x != x ? x : other; }

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"Abs", Unary::kAbs, [](double x) { return std::fabs(x); }},
      {"Neg", Unary::kNeg, [](double x) { return -x; }},
      {"Sign", Unary::kSign, [](double x) { return NaNOr(x, (x > 0) - (x < 0)); }},
      {"Ceil", Unary::kCeil, [](double x) { return std::ceil(x); }},
      {"Floor", Unary::kFloor, [](double x) { return std::floor(x); }},
      {"Round", Unary::kRound, [](double x) { return std::nearbyint(x); }},
      {"Sqrt", Unary::kSqrt, [](double x) { return std::sqrt(x); }},
      {"Reciprocal", Unary::kReciprocal, [](double x) { return 1 / x; }},
      {"Square", Unary::kSquare, [](double x) { return x * x; }},
      {"Cube", Unary::kCube, [](double x) { return x * x * x; }, 1.5, kSubnormal},
      {"Exp", Unary::kExp, [](double x) { return std::exp(x); }, 1.1},
      {"Log", Unary::kLog, [](double x) { return std::log(x); }, 0.8},
      {"Sin", Unary::kSin, [](double x) { return std::sin(x); }, 1.5},
      {"Cos", Unary::kCos, [](double x) { return std::cos(x); }, 1.5},
      {"Asin", Unary::kAsin, [](double x) { return std::asin(x); }, 4},
      {"Acos", Unary::kAcos, [](double x) { return std::acos(x); }, 3},
      {"Atan", Unary::kAtan, [](double x) { return std::atan(x); }, 4},
      {"Tanh", Unary::kTanh, [](double x) { return std::tanh(x); }, 7},
      {"Erf", Unary::kErf, [](double x) { return std::erf(x); }, 1.3},
      {"Sigmoid", Unary::kSigmoid, Sigmoid, 2.41},
      {"Softplus", Unary::kSoftplus, Softplus, 2},
      {"Relu", Unary::kRelu, [](double x) { return x < 0 ? 0 : x; }},
      {"LeakyRelu", Unary::kLeakyRelu, [](double x) { return x < 0 ? 0.1f * x : x; }, 0.5, 0, 0.1f},
      {"Elu", Unary::kElu, [](double x) { return x < 0 ? 1.5f * std::expm1(x) : x; }, 3, 0, 1.5f},
      {"Selu", Unary::kSelu, [](double x) { return 1.05f * (x <= 0 ? 1.67f * std::expm1(x) : x); }, 3, 0, 1.67f, 1.05f},
      {"Celu", Unary::kCelu, [](double x) { return x < 0 ? 0.7f * std::expm1(x / 0.7f) : x; }, 4, 0, 0.7f},
      {"Gelu", Unary::kGelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, 1, 0x1p-23},
      {"GeluTanh", Unary::kGeluTanh,
       [](double x) { return x * Sigmoid(std::sqrt(8 / M_PI) * (x + 0.044715 * x * x * x)); }, 1, 0x1p-23},
      {"HardSigmoid", Unary::kHardSigmoid, [](double x) { return Clamp(0.2f * x + 0.5f, 0, 1); }, 1, 0x1p-24, 0.2f,
       0.5f},
      {"HardSwish", Unary::kHardSwish, [](double x) { return x * Clamp(x / 6 + 0.5, 0, 1); }, 1.5, 0x1p-23},
      {"Mish", Unary::kMish, [](double x) { return x * std::tanh(Softplus(x)); }, 4, kSubnormal},
      {"Softsign", Unary::kSoftsign, [](double x) { return x / (1 + std::fabs(x)); }, 1.5},
      {"Swish", Unary::kSwish, [](double x) { return x * Sigmoid(1.7f * x); }, 4, 0x1p-22, 1.7f},
      {"ThresholdedRelu", Unary::kThresholdedRelu, [](double x) { return x > 0.3f ? x : 0; }, 0.5, 0, 0.3f},
      {"Shrink", Unary::kShrink, [](double x) { return x < -0.5f  ? x + 0.3f
                                                       : x > 0.5f ? x - 0.3f
                                                                  : 0; }, 0.5, 0, 0.3f,
       0.5f},
      {"Clip", Unary::kClip, [](double x) { return Clamp(x, -0.3f, 6); }, 0.5, 0, -0.3f, 6},
      {"ClipWithoutLimits", Unary::kClip, [](double x) { return x; }, 0.5, 0, -kInfinity, kInfinity},
      {"ClipOfCrossedLimits", Unary::kClip, [](double x) { return NaNOr(x, -1); }, 0.5, 0, 1, -1},
      {"Scale", Unary::kScale, [](double x) { return 0.7f * x; }, 0.5, 0, 0.7f},
      {"Affine", Unary::kAffine, [](double x) { return 0.7f * x + 3; }, 1, 0x1p-24, 0.7f, 3},
  };
  return cases;
}

// Floats of every exponent and both signs, infinities and NaN, and more samples in the ranges that matter most.
std::vector<float> Samples() {
  std::vector<float> samples = {0.0f,
                                -0.0f,
                                kInfinity,
                                -kInfinity,
                                std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::denorm_min(),
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::lowest(),
                                -4.15729380f};  // Sigmoid's error is greatest here
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 200003) {
    samples.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (float x : RandomFloats(20000, -1, 1)) samples.push_back(x);
  for (float x : RandomFloats(20000, -12, 12)) samples.push_back(x);
  for (float x : RandomFloats(5000, -110, 110)) samples.push_back(x);
  for (float x : RandomFloats(5000, -9000, 9000)) samples.push_back(x);
  for (int i = 1; i < 6000; ++i) samples.push_back(static_cast<float>(i * (M_PI / 2)));  // zeros of sine and cosine
  return samples;
}

using UnaryFunctions = EachTarget;
EPIPHYTE_EACH_TARGET(UnaryFunctions);

TEST_P(UnaryFunctions, KeepToTheirErrorBoundsOverTheWholeRange) {
  const std::vector<float> x = Samples();
  std::vector<float> y(x.size());
  for (const Case& test : Cases()) {
    UnaryLoop(test.function, test.a, test.b)(x.data(), y.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = test.expected(x[i]);
      const double unit = std::ldexp(1.0, std::max(std::ilogb(static_cast<float>(expected)), -126) - 23);
      const bool finite = std::isfinite(x[i]) && std::isfinite(static_cast<float>(expected)) && std::isfinite(y[i]);
      const double slack = finite && expected != 0 ? test.part * std::fabs(x[i]) / unit : 0;
      ASSERT_LE(UlpError(y[i], expected), test.units + slack + 1e-6)
          << test.name << '(' << x[i] << ") = " << y[i] << ", expected " << expected;
      if (expected == 0) {
        ASSERT_EQ(std::signbit(y[i]), std::signbit(expected)) << test.name << '(' << x[i] << ')';
      }
    }
  }
}

// An element's result must not depend on its position or on the length of the row.
TEST_P(UnaryFunctions, AreTheSameInRowsOfEveryLengthAndInPlace) {
  const std::vector<float> all = RandomFloats(10007, -5, 5);
  std::vector<float> expected(all.size());
  for (const Case& test : Cases()) {
    const UnaryLoop loop(test.function, test.a, test.b);
    loop(all.data(), expected.data(), static_cast<int64_t>(all.size()));
    for (int64_t n : Lengths()) {
      GuardedRow<float> x(std::vector<float>(all.begin(), all.begin() + n));
      GuardedRow<float> y(n);
      loop(x.data(), y.data(), n);
      loop(x.data(), x.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const auto bits = std::bit_cast<uint32_t>(expected[static_cast<size_t>(i)]);
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), bits) << test.name << ", element " << i << " of " << n;
        ASSERT_EQ(std::bit_cast<uint32_t>(x[i]), bits) << test.name << " in place, element " << i << " of " << n;
      }
    }
  }
}

TEST_P(UnaryFunctions, AllAreTested) {
  for (int i = 0; i < kUnaryCount; ++i) {
    EXPECT_TRUE(std::ranges::any_of(Cases(), [i](const Case& test) { return static_cast<int>(test.function) == i; }))
        << i;
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
