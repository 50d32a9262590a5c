// Elementwise functions of one input, compared with the C library in double: edge cases, every type, every form of
// dispatch.
#include <cmath>
#include <limits>

#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class Elementwise : public OpTest {
 protected:
  // Runs one node with one input. The result has the input's type.
  std::vector<float> Unary(const std::string& node, const std::vector<float>& x) {
    const auto n = static_cast<int64_t>(x.size());
    const std::string shape = "float[" + std::to_string(n) + "]";
    return Run("in x: " + shape + "\ny = " + node + "(x) : " + shape + "\nout y\n", {Of<float>({n}, x)})[0].As<float>();
  }
};

// Numbers of both signs from tiny to huge magnitude, and evenly spaced ones from `low` to `high`.
std::vector<float> Samples(float low, float high) {
  std::vector<float> samples;
  for (int i = 0; i <= 2000; ++i) {
    const float at = low + (high - low) * static_cast<float>(i) / 2000.0f;
    samples.push_back(std::clamp(at, low, high));
  }
  for (float magnitude = 1e-30f; magnitude < 1e30f; magnitude *= 3.7f)
    for (const float sign : {-1.0f, 1.0f})
      if (sign * magnitude > low && sign * magnitude < high) samples.push_back(sign * magnitude);
  return samples;
}

struct Function {
  const char* node;
  double (*exact)(double);
  float low, high;
  double ulps = 6;
  double absolute = 1e-37;
};

TEST_F(Elementwise, FunctionsAreWithinAFewUnitsOfTheLastPlace) {
  const Function functions[] = {
      {"Exp", [](double x) { return std::exp(x); }, -87, 88.7f},
      {"Log", [](double x) { return std::log(x); }, 1e-35f, 1e30f},
      {"Sqrt", [](double x) { return std::sqrt(x); }, 0, 1e30f},
      {"Reciprocal", [](double x) { return 1 / x; }, 1e-30f, 1e30f},
      {"Erf@9", [](double x) { return std::erf(x); }, -5, 5},
      {"Tanh", [](double x) { return std::tanh(x); }, -20, 20},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80},
      {"Softplus", [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }, -80, 80},
      {"Sin@7", [](double x) { return std::sin(x); }, -100, 100, 6, 1e-7},
      {"Cos@7", [](double x) { return std::cos(x); }, -100, 100, 6, 1e-7},
      {"Sin@7", [](double x) { return std::sin(x); }, -1e9f, 1e9f, 6, 2e-7},
      {"Cos@7", [](double x) { return std::cos(x); }, 1e4f, 1e20f, 6, 2e-7},
      {"Tan@7", [](double x) { return std::tan(x); }, -1.5f, 1.5f, 8},
      {"Asin@7", [](double x) { return std::asin(x); }, -1, 1},
      {"Acos@7", [](double x) { return std::acos(x); }, -1, 1, 6, 2e-7},
      {"Atan@7", [](double x) { return std::atan(x); }, -1e30f, 1e30f},
      {"Sinh@9", [](double x) { return std::sinh(x); }, -88, 88, 8},
      {"Cosh@9", [](double x) { return std::cosh(x); }, -88, 88, 8},
      {"Asinh@9", [](double x) { return std::asinh(x); }, -1e30f, 1e30f},
      {"Acosh@9", [](double x) { return std::acosh(x); }, 1, 1e30f},
      {"Atanh@9", [](double x) { return std::atanh(x); }, -0.99999f, 0.99999f, 8},
      {"Elu<alpha=2.0>", [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }, -80, 80},
      {"Celu@12<alpha=2.0>", [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, -80, 80},
      {"Mish@18", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -60, 60, 8},
      {"Gelu@20", [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, -4, 4, 6, 3e-7},
      {"Swish@24<alpha=1.5>", [](double x) { return x / (1 + std::exp(-1.5 * x)); }, -8, 8, 8},
      {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }, -1e30f, 1e30f},
  };
  for (const Function& function : functions) {
    const std::vector<float> x = Samples(function.low, function.high);
    const std::vector<float> y = Unary(function.node, x);
    double worst = 0;
    float worst_at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = function.exact(static_cast<double>(x[i]));
      const double error =
          std::fabs(static_cast<double>(y[i]) - exact) / (std::fabs(exact) * 0x1p-23 + function.absolute);
      if (error > worst || std::isnan(error)) worst = error, worst_at = x[i];
      if (std::isnan(error)) break;
    }
    EXPECT_LT(worst, function.ulps) << function.node << " of " << worst_at;
    RecordProperty(function.node, std::to_string(worst));
  }
}

MATCHER(SameFloat, "") {
  const auto [a, b] = arg;
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

TEST_F(Elementwise, InfinitiesAndNaNAreAsInTheCLibrary) {
  const std::vector<float> x = {kInfinity, -kInfinity, kNaN, 0.0f};
  const struct {
    const char* node;
    std::vector<float> y;
  } cases[] = {
      {"Exp", {kInfinity, 0, kNaN, 1}},
      {"Log", {kInfinity, kNaN, kNaN, -kInfinity}},
      {"Sqrt", {kInfinity, kNaN, kNaN, 0}},
      {"Relu", {kInfinity, 0, kNaN, 0}},
      {"Tanh", {1, -1, kNaN, 0}},
      {"Sigmoid", {1, 0, kNaN, 0.5f}},
      {"Erf@9", {1, -1, kNaN, 0}},
      {"Softplus", {kInfinity, 0, kNaN, std::log(2.0f)}},
      {"Sin@7", {kNaN, kNaN, kNaN, 0}},
      {"Cos@7", {kNaN, kNaN, kNaN, 1}},
      {"Atan@7", {std::atan(kInfinity), -std::atan(kInfinity), kNaN, 0}},
      {"Asin@7", {kNaN, kNaN, kNaN, 0}},
      {"Sinh@9", {kInfinity, -kInfinity, kNaN, 0}},
      {"Cosh@9", {kInfinity, kInfinity, kNaN, 1}},
      {"Asinh@9", {kInfinity, -kInfinity, kNaN, 0}},
      {"Acosh@9", {kInfinity, kNaN, kNaN, kNaN}},
      {"Elu", {kInfinity, -1, kNaN, 0}},
      {"Sign@9", {1, -1, kNaN, 0}},
      {"Abs", {kInfinity, kInfinity, kNaN, 0}},
      {"Clip<min=-1.0,max=2.0>@6", {2, -1, kNaN, 0}},
  };
  for (const auto& test : cases) {
    std::string node = test.node;
    if (node.ends_with("@6")) node = "Clip@6<min=-1.0,max=2.0>";
    EXPECT_THAT(Unary(node, x), testing::Pointwise(SameFloat(), test.y)) << node;
  }
}

TEST_F(Elementwise, RoundGoesToTheEvenOfTwoHalves) {
  EXPECT_THAT(Unary("Round@11", {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.4f, -2.6f}), ElementsAre(0, 2, 2, 0, -2, 2, -3));
  EXPECT_THAT(Unary("Floor", {0.5f, -0.5f, 3.0f}), ElementsAre(0, -1, 3));
  EXPECT_THAT(Unary("Ceil", {0.5f, -0.5f, 3.0f}), ElementsAre(1, 0, 3));
}

TEST_F(Elementwise, ParametersAreAttributes) {
  const std::vector<float> x = {-2, -0.25f, 0.25f, 2};
  EXPECT_THAT(Unary("LeakyRelu<alpha=0.5>", x), ElementsAre(-1, -0.125f, 0.25f, 2));
  EXPECT_THAT(Unary("ThresholdedRelu@10<alpha=0.5>", x), ElementsAre(0, 0, 0, 2));
  EXPECT_THAT(Unary("Shrink@9<bias=0.5,lambd=1.0>", x), ElementsAre(-1.5f, 0, 0, 1.5f));
  EXPECT_THAT(Unary("HardSigmoid<alpha=0.5,beta=0.5>", x), ElementsAre(0, 0.375f, 0.625f, 1));
  EXPECT_THAT(Unary("HardSwish@14", {-4, 0, 3, 4}), ElementsAre(0, 0, 3, 4));
  // Before opset 6 the constants of Selu had five digits.
  EXPECT_FLOAT_EQ(Unary("Selu", {2})[0], 2 * 1.0507f);
  EXPECT_FLOAT_EQ(Unary("Selu@6", {2})[0], 2 * 1.05070102214813232421875f);
}

TEST_F(Elementwise, IntegersOfEveryWidth) {
  const auto run = [&](const std::string& type, const std::string& node, const OpTensor& x) {
    return Run("in x: " + type + "[5]\ny = " + node + "(x) : " + type + "[5]\nout y\n", {x})[0];
  };
  constexpr int64_t kLeast = INT64_MIN;
  const OpTensor longs = Of<int64_t>({5}, {0, -3, 5000000000, kLeast, 7});
  EXPECT_THAT(run("int64", "Abs@13", longs).As<int64_t>(), ElementsAre(0, 3, 5000000000, kLeast, 7));
  EXPECT_THAT(run("int64", "Neg@13", longs).As<int64_t>(), ElementsAre(0, 3, -5000000000, kLeast, -7));
  EXPECT_THAT(run("int64", "Sign@13", longs).As<int64_t>(), ElementsAre(0, -1, 1, -1, 1));
  const OpTensor bytes = Of<int8_t>({5}, {0, -3, 100, -128, 7});
  EXPECT_THAT(run("int8", "Abs@13", bytes).As<int8_t>(), ElementsAre(0, 3, 100, -128, 7));
  EXPECT_THAT(run("int8", "Relu@14", bytes).As<int8_t>(), ElementsAre(0, 0, 100, 0, 7));
  EXPECT_THAT(run("uint8", "BitwiseNot@18", Of<uint8_t>({5}, {0, 1, 2, 254, 255})).As<uint8_t>(),
              ElementsAre(255, 254, 253, 1, 0));
  EXPECT_THAT(run("int32", "BitwiseNot@18", Of<int32_t>({5}, {0, 1, -1, 5, 6})).As<int32_t>(),
              ElementsAre(-1, -2, 0, -6, -7));
  // A bool in a file may be neither 0 nor 1.
  EXPECT_THAT(run("bool", "Not", Bools({5}, {0, 1, 2, 255, 0})).As<uint8_t>(), ElementsAre(1, 0, 0, 0, 1));
}

TEST_F(Elementwise, HalvesAreComputedInFloats) {
  const std::vector<float> x = {-60000, -1, -0.5f, 0, 0.0009765625f, 1, 11, 65504};
  const auto run = [&](const std::string& node) {
    return FromHalves(Run("in x: float16[8]\ny = " + node + "(x) : float16[8]\nout y\n", {Halves({8}, x)})[0]);
  };
  EXPECT_THAT(run("Abs@13"), ElementsAre(60000, 1, 0.5f, 0, 0.0009765625f, 1, 11, 65504));
  const std::vector<float> y = run("Exp@13");
  for (size_t i = 0; i < x.size(); ++i) {
    const float exact = std::exp(x[i]);
    if (exact > 65520) {
      EXPECT_EQ(y[i], kInfinity);
    } else {
      EXPECT_NEAR(y[i], exact, exact * 0x1p-10f) << x[i];
    }
  }
}

TEST_F(Elementwise, EveryNumberOfElementsIsWholeAndNothingBeyond) {
  for (const int64_t n : {1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 1000}) {
    std::vector<float> x(static_cast<size_t>(n));
    std::vector<float> y = x;
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 3, y[i] = -x[i];
    EXPECT_THAT(Unary("Neg@13", x), ElementsAreArray(y)) << n;
  }
}

TEST_F(Elementwise, NoElementsAreNoWork) {
  const Tensors y = Run("in x: float[2,0]\ny = Exp@13(x) : float[2,0]\nout y\n", {Of<float>({2, 0}, {})});
  EXPECT_EQ(y[0].dims, (Dims{2, 0}));
  EXPECT_TRUE(program().dispatches.empty());
}

TEST_F(Elementwise, MoreElementsThanOneRowOfWorkgroups) {
  // More than 65535 workgroups of 64 invocations. The number is odd, so each invocation computes one element.
  const int64_t n = 65535 * 64 + 12345;
  std::vector<uint8_t> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 7 / 3);
  const std::string shape = "uint8[" + std::to_string(n) + "]";
  const std::vector<uint8_t> y =
      Run("in x: " + shape + "\ny = BitwiseNot@18(x) : " + shape + "\nout y\n", {Of<uint8_t>({n}, x)})[0].As<uint8_t>();
  EXPECT_GT(program().dispatches.at(0).groups[1], 1u);
  size_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) wrong += y[i] != static_cast<uint8_t>(~x[i]);
  EXPECT_EQ(wrong, 0u);
}

TEST_F(Elementwise, IsNaNAndIsInfGiveBools) {
  const Tensors x = {Of<float>({4}, {1, kNaN, kInfinity, -kInfinity})};
  const auto run = [&](const std::string& node) {
    return Run("in x: float[4]\ny = " + node + "(x) : bool[4]\nout y\n", x)[0].As<uint8_t>();
  };
  EXPECT_THAT(run("IsNaN@13"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(run("IsInf@10"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(run("IsInf@10<detect_negative=0>"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(run("IsInf@10<detect_positive=0>"), ElementsAre(0, 0, 0, 1));
}

TEST_F(Elementwise, DropoutOfInferenceIsItsInputAndAMaskOfOnes) {
  const Tensors x = {Of<float>({3}, {1, 2, 3})};
  Tensors y = Run("in x: float[3]\ny, m = Dropout@10(x) : float[3], bool[3]\nout y\nout m\n", x);
  EXPECT_THAT(y[0].As<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(y[1].As<uint8_t>(), ElementsAre(1, 1, 1));
  // Before opset 10, Dropout's mask has the type of the data.
  y = Run("in x: float[3]\ny, m = Dropout@7(x) : float[3], float[3]\nout y\nout m\n", x);
  EXPECT_THAT(y[1].As<float>(), ElementsAre(1, 1, 1));
  EXPECT_THAT(ReasonOf([&] { Run("in x: float[3]\ny = Dropout@1(x) : float[3]\nout y\n", x); }),
              testing::HasSubstr("is_test is 0"));
}

TEST_F(Elementwise, WithoutStorageOfBytesTheirOperatorsAreRefusedWithTheReason) {
  Disable(Capability::kStorage8);
  EXPECT_THAT(ReasonOf([&] {
                Run("in x: bool[2]\ny = Not(x) : bool[2]\nout y\n", {Bools({2}, {0, 1})});
              }),
              testing::HasSubstr("storage8"));
}

}  // namespace
}  // namespace epiphyte::vulkan
