// Programs of the kit's Elementwise operator (several steps in one dispatch), and the steps that the host computes.
#include <cmath>

#include "plugins/vulkan/ops/math/map.h"
#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;
using testing::Pointwise;

class Programs : public OpTest {
 protected:
  // Runs a program with inputs of shapes [2,4] and [4]; the second one is broadcast.
  std::vector<float> Run2(const std::string& code, const std::string& parameters) {
    return Run("in a: float[2,4]\nin b: float[4]\ny = epiphyte.kit::Elementwise<code=" + code +
                   ",parameters=" + parameters + ">(a, b) : float[2,4]\nout y\n",
               {Of<float>({2, 4}, {-3, -2, -1, 0, 1, 2, 3, 4}), Of<float>({4}, {1, 2, 3, 4})})[0]
        .As<float>();
  }
};

TEST_F(Programs, StepsReadInputsAndEarlierResults) {
  // The program is relu(a + b) * a.
  EXPECT_THAT(Run2("[0,0,2, 6,1,-1, 2,3,0]", "[0.0,0.0,0.0,0.0,0.0,0.0]"), ElementsAre(0, 0, -2, 0, 2, 8, 18, 32));
  EXPECT_EQ(program().dispatches.size(), 1u);
}

TEST_F(Programs, ANumberStandsOnEitherSide) {
  // The program is (10 - a) / 2.
  EXPECT_THAT(Run2("[1,-1,0, 3,1,-1]", "[10.0,0.0,2.0,0.0]"), ElementsAre(6.5f, 6, 5.5f, 5, 4.5f, 4, 3.5f, 3));
}

TEST_F(Programs, EveryOperationIsTheKits) {
  using kit::fuse::ElementwiseOp;
  const std::vector<float> a = {-3, -2, -1, 0, 1, 2, 3, 4}, b = {1, 2, 3, 4, 1, 2, 3, 4};
  const auto exact = [](ElementwiseOp op, double x, double y, double p0, double p1) -> double {
    const double sigmoid = 1 / (1 + std::exp(-x));
    switch (op) {
      case ElementwiseOp::kAdd: return x + y;
      case ElementwiseOp::kSub: return x - y;
      case ElementwiseOp::kMul: return x * y;
      case ElementwiseOp::kDiv: return x / y;
      case ElementwiseOp::kMax: return std::max(x, y);
      case ElementwiseOp::kMin: return std::min(x, y);
      case ElementwiseOp::kRelu: return std::max(x, 0.0);
      case ElementwiseOp::kSigmoid: return sigmoid;
      case ElementwiseOp::kTanh: return std::tanh(x);
      case ElementwiseOp::kNeg: return -x;
      case ElementwiseOp::kAbs: return std::fabs(x);
      case ElementwiseOp::kSqrt: return std::sqrt(x);
      case ElementwiseOp::kExp: return std::exp(x);
      case ElementwiseOp::kLog: return std::log(x);
      case ElementwiseOp::kErf: return std::erf(x);
      case ElementwiseOp::kReciprocal: return 1 / x;
      case ElementwiseOp::kSoftplus: return std::log1p(std::exp(x));
      case ElementwiseOp::kHardSwish: return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
      case ElementwiseOp::kGelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      case ElementwiseOp::kGeluTanh:
        return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
      case ElementwiseOp::kSquare: return x * x;
      case ElementwiseOp::kCube: return x * x * x;
      case ElementwiseOp::kSwish: return x * sigmoid;
      case ElementwiseOp::kLeakyRelu: return x < 0 ? x * p0 : x;
      case ElementwiseOp::kElu: return x < 0 ? p0 * std::expm1(x) : x;
      case ElementwiseOp::kHardSigmoid: return std::clamp(p0 * x + p1, 0.0, 1.0);
      case ElementwiseOp::kClip: return std::clamp(x, p0, p1);
      case ElementwiseOp::kCount: break;
    }
    return 0;
  };
  for (int32_t i = 0; i < static_cast<int32_t>(ElementwiseOp::kCount); ++i) {
    const auto op = static_cast<ElementwiseOp>(i);
    const std::vector<float> y =
        Run2("[" + std::to_string(i) + ",0," + (kit::fuse::IsBinary(op) ? "2]" : "-1]"), "[0.25,0.75]");
    for (size_t k = 0; k < a.size(); ++k) {
      const double expected = exact(op, static_cast<double>(a[k]), static_cast<double>(b[k]), 0.25, 0.75);
      if (std::isfinite(expected)) {
        EXPECT_NEAR(static_cast<double>(y[k]), expected, 1e-6 * (1 + std::fabs(expected)))
            << kit::fuse::NameOf(op) << " of " << a[k];
      } else {
        EXPECT_EQ(std::isnan(y[k]), std::isnan(expected)) << kit::fuse::NameOf(op) << " of " << a[k];
      }
    }
  }
}

TEST_F(Programs, LongerThanOneDispatchTakesTheyRunStepByStep) {
  // The program is 1 - (a + b + b + …), with more steps than one dispatch takes.
  std::string code = "[0,0,2", parameters = "[0.0,0.0";
  const int adds = static_cast<int>(kMostProgramSteps) + 3;
  for (int i = 1; i < adds; ++i) {
    code += ",0," + std::to_string(2 * (i - 1) + 1) + ",2";
    parameters += ",0.0,0.0";
  }
  code += ",1,-1," + std::to_string(2 * (adds - 1) + 1) + "]";
  parameters += ",1.0,0.0]";
  std::vector<float> expected;
  const float a[] = {-3, -2, -1, 0, 1, 2, 3, 4}, b[] = {1, 2, 3, 4};
  for (size_t i = 0; i < 8; ++i) expected.push_back(1 - (a[i] + static_cast<float>(adds) * b[i % 4]));
  EXPECT_THAT(Run2(code, parameters), testing::ElementsAreArray(expected));
  EXPECT_GT(program().dispatches.size(), kMostProgramSteps);
}

TEST_F(Programs, OfHalves) {
  const Tensors x = {Halves({3}, {-1, 2, 100})};
  EXPECT_THAT(FromHalves(Run("in a: float16[3]\ny = epiphyte.kit::Elementwise<code=[6,0,-1, 2,1,1],"
                             "parameters=[0.0,0.0,0.0,0.0]>(a) : float16[3]\nout y\n",
                             x)[0]),
              ElementsAre(0, 4, 10000));
}

TEST_F(Programs, ThatMakeNoSenseAreRefused) {
  EXPECT_NE(ReasonOf([&] { Run2("[0,0,7]", "[0.0,0.0]"); }), "");
}

// --- On the host

class OnTheHost : public OpTest {
 protected:
  // Runs nodes that compute values from a shape, and checks that this takes no dispatch.
  std::vector<int64_t> Shapes(const std::string& nodes, const std::vector<int64_t>& x, int64_t out) {
    const Tensors y = Run("in x: int64[" + std::to_string(x.size()) + "]\n" + nodes + "out y\n",
                          {OnHost(Of<int64_t>({static_cast<int64_t>(x.size())}, x))});
    EXPECT_TRUE(program().dispatches.empty()) << nodes;
    EXPECT_EQ(y[0].dims.Count(), out);
    return y[0].As<int64_t>();
  }
};

TEST_F(OnTheHost, ArithmeticOfShapes) {
  const std::string two = "const two: int64[1] = [2]\n";
  EXPECT_THAT(Shapes(two + "y = Mul@14(x, two) : int64[3]\n", {1, 2, 3}, 3), ElementsAre(2, 4, 6));
  EXPECT_THAT(Shapes(two + "y = Div@14(x, two) : int64[3]\n", {1, -7, 8}, 3), ElementsAre(0, -3, 4));
  EXPECT_THAT(Shapes(two + "y = Mod@13(x, two) : int64[3]\n", {1, -7, 8}, 3), ElementsAre(1, 1, 0));
  EXPECT_THAT(Shapes(two + "y = Sub@14(two, x) : int64[2]\n", {INT64_MIN, 3}, 2), ElementsAre(INT64_MIN + 2, -1));
  EXPECT_THAT(Shapes(two + "y = Max@13(x, two) : int64[2]\n", {1, 3}, 2), ElementsAre(2, 3));
  EXPECT_THAT(Shapes(two + "y = Pow@15(x, two) : int64[2]\n", {-3, 5}, 2), ElementsAre(9, 25));
  EXPECT_THAT(Shapes("y = Neg@13(x) : int64[2]\n", {-3, 5}, 2), ElementsAre(3, -5));
  EXPECT_THAT(Shapes(two + "y = Clip@13(x, two) : int64[2]\n", {-3, 5}, 2), ElementsAre(2, 5));
}

TEST_F(OnTheHost, ThroughFloatsAndBools) {
  // Exporters write ceil(x / 2) and where(x == -1, 9, x) with these nodes.
  EXPECT_THAT(Shapes("const half: float[1] = [0.5]\nf = Cast@13<to=1>(x) : float[2]\ng = Mul@14(f, half) : float[2]\n"
                     "h = Ceil@13(g) : float[2]\ny = Cast@13<to=7>(h) : int64[2]\n",
                     {7, 8}, 2),
              ElementsAre(4, 4));
  EXPECT_THAT(Shapes("const all: int64[1] = [-1]\nconst nine: int64[1] = [9]\ne = Equal@13(x, all) : bool[2]\n"
                     "y = Where@16(e, nine, x) : int64[2]\n",
                     {-1, 8}, 2),
              ElementsAre(9, 8));
  EXPECT_THAT(Shapes("const all: int64[1] = [3]\na = Greater@13(x, all) : bool[2]\nb = Not(a) : bool[2]\n"
                     "c = And@7(a, b) : bool[2]\nd = Or@7(a, b) : bool[2]\ne = Cast@13<to=7>(c) : int64[2]\n"
                     "f = Cast@13<to=7>(d) : int64[2]\ny = Sub@14(f, e) : int64[2]\n",
                     {-1, 8}, 2),
              ElementsAre(1, 1));
}

TEST_F(OnTheHost, MoreThanAFewElementsAreTheDevicesBusiness) {
  const int64_t n = kMostHostElements + 1;
  const std::string shape = "int64[" + std::to_string(n) + "]";
  Run("in x: " + shape + "\nin a: int64[1]\ny = Add@14(x, a) : " + shape + "\nout y\n",
      {Of<int64_t>({n}, std::vector<int64_t>(static_cast<size_t>(n), 5)), OnHost(Of<int64_t>({1}, {1}))});
  EXPECT_EQ(program().dispatches.size(), 1u);
}

}  // namespace
}  // namespace epiphyte::vulkan
