// Weights that a 16-bit format holds exactly are kept in that format, in memory and in contexts. Products with them
// equal those with floats.
#include <gmock/gmock.h>

#include <cmath>

#include "epiphyte/kit/shape/float_types.hpp"
#include "plugins/cpu/onednn/compat.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using kit::BFloat16;
using kit::Float16;
using testing::ElementsAreArray;
using testing::StartsWith;

std::vector<float> Waves(int64_t count, double step) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(static_cast<double>(i) * step));
  return values;
}
template <typename T>
std::vector<float> Rounded(std::vector<float> values) {
  for (float& value : values) value = static_cast<float>(T(value));
  return values;
}

struct Product {
  kit::ir::Graph graph;
  std::vector<float> x;
  std::vector<double> expected;
  double bound;
};

// Rows times a matrix, optionally with a bias and an activation for the plan to fuse.
Product MatMul(int64_t rows, int64_t k, int64_t n, const std::vector<float>& weights, bool bias) {
  PlanBuilder b;
  const std::vector<float> biases = Waves(n, 0.9);
  int32_t y = b.Node("MatMul", 13, {b.Input({rows, k}), b.Constant({k, n}, weights)}, {rows, n});
  if (bias) y = b.Node("Relu", 14, {b.Node("Add", 14, {y, b.Constant({n}, biases)}, {rows, n})}, {rows, n});
  b.Output(y);
  Product product{b.Take(), Waves(rows * k, 0.7), {}, 1e-5 * static_cast<double>(k)};
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      double sum = bias ? biases[static_cast<size_t>(column)] : 0;
      for (int64_t i = 0; i < k; ++i)
        sum += static_cast<double>(product.x[static_cast<size_t>(row * k + i)]) *
               weights[static_cast<size_t>(i * n + column)];
      product.expected.push_back(bias ? std::max(0.0, sum) : sum);
    }
  }
  return product;
}

// A convolution with a 1x1 kernel, or its transpose: a matrix product for each position.
Product Convolution(bool transposed, const std::vector<float>& weights) {
  constexpr int64_t kIn = 128, kOut = 160, kSide = 3, kPlane = kSide * kSide;
  PlanBuilder b;
  const int32_t w =
      b.Constant(transposed ? std::vector<int64_t>{kIn, kOut, 1, 1} : std::vector<int64_t>{kOut, kIn, 1, 1}, weights);
  b.Output(
      b.Node(transposed ? "ConvTranspose" : "Conv", 11, {b.Input({1, kIn, kSide, kSide}), w}, {1, kOut, kSide, kSide}));
  Product product{b.Take(), Waves(kIn * kPlane, 0.7), {}, 1e-3};
  for (int64_t out = 0; out < kOut; ++out) {
    for (int64_t at = 0; at < kPlane; ++at) {
      double sum = 0;
      for (int64_t in = 0; in < kIn; ++in)
        sum += static_cast<double>(product.x[static_cast<size_t>(in * kPlane + at)]) *
               weights[static_cast<size_t>(transposed ? in * kOut + out : out * kIn + in)];
      product.expected.push_back(sum);
    }
  }
  return product;
}

void ExpectKeptAs(const std::string& format, uint64_t most_bytes, Product product) {
  PlanRunner runner(std::move(product.graph));
  ASSERT_EQ(runner.plan().packed().size(), 1u);
  const kit::PackedData& packed = runner.plan().packed()[0];
  EXPECT_THAT(packed.format, StartsWith(format));
  EXPECT_LE(packed.bytes, most_bytes);
  const std::vector<float> y = runner.Run({product.x});
  ASSERT_EQ(y.size(), product.expected.size());
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], product.expected[i], product.bound) << "element " << i;
  // The plan is loaded from a context without the constants.
  PlanRunner loaded(kit::ir::Graph(runner.plan().def()), false, runner.plan().packed());
  EXPECT_FALSE(loaded.plan().repacked());
  EXPECT_THAT(loaded.Run({product.x}), ElementsAreArray(y));
}

constexpr int64_t kDepth = 300, kColumns = 2500;  // more weights than are converted to float at once
constexpr uint64_t kPadding = uint64_t{256} << 10;

TEST(SmallWeights, OfAMatMulStaySmall) {
  const std::vector<float> halves = Rounded<Float16>(Waves(kDepth * kColumns, 0.3));
  const std::vector<float> brains = Rounded<BFloat16>(Waves(kDepth * kColumns, 0.3));
  const uint64_t bytes = kDepth * kColumns * 2 + kPadding;
  for (const int64_t rows : {1, 2, 40}) {
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, bias " << bias);
      ExpectKeptAs("float16 ", bytes, MatMul(rows, kDepth, kColumns, halves, bias));
      ExpectKeptAs("bfloat16 ", bytes, MatMul(rows, kDepth, kColumns, brains, bias));
    }
  }
}

TEST(SmallWeights, OfConvolutionsStaySmall) {
  for (const bool transposed : {false, true}) {
    SCOPED_TRACE(transposed ? "transposed" : "plain");
    ExpectKeptAs("float16 ", 128 * 160 * 2, Convolution(transposed, Rounded<Float16>(Waves(128 * 160, 0.3))));
    std::vector<float> brains = Rounded<BFloat16>(Waves(128 * 160, 0.3));
    brains[5] = 0x1p-30f;  // too small for float16
    ExpectKeptAs("bfloat16 ", 128 * 160 * 2, Convolution(transposed, brains));
  }
}

// Both operands are rounded to 8 bits of significand.
TEST(SmallWeights, ProductsInBfloat16AreWithinItsRounding) {
  if (!cpu::HasBfloat16Products()) GTEST_SKIP() << "this CPU multiplies no bfloat16";
  for (const bool is_matrix : {false, true}) {
    const std::vector<float> weights = Waves(128 * 160, 0.3);
    Product product = is_matrix ? MatMul(20, 128, 160, weights, true) : Convolution(false, weights);
    PlanRunner runner(std::move(product.graph), true, {}, cpu::PlanOrigin::kMadeNow, true);
    ASSERT_EQ(runner.plan().packed().size(), 1u);
    EXPECT_THAT(runner.plan().packed()[0].format, StartsWith("products-in-bfloat16 "));
    EXPECT_LE(runner.plan().packed()[0].bytes, uint64_t{128} * 192 * 2);
    const std::vector<float> y = runner.Run({product.x});
    double inexact = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], product.expected[i], 128 * (0x1p-8 + 0x1p-16)) << i;
      inexact = std::max(inexact, std::abs(y[i] - product.expected[i]));
    }
    EXPECT_LT(inexact, 0.1);
    EXPECT_GT(inexact, 0x1p-12) << "as floats would give";
    // A context made with bfloat16 products keeps them, also in a session without that option.
    PlanRunner loaded(kit::ir::Graph(runner.plan().def()), false, runner.plan().packed());
    EXPECT_FALSE(loaded.plan().repacked());
    EXPECT_THAT(loaded.Run({product.x}), ElementsAreArray(y));
  }
}

TEST(SmallWeights, OneNumberOfMoreDigitsKeepsAllAsFloats) {
  std::vector<float> weights = Rounded<Float16>(Waves(kDepth * 100, 0.3));
  weights[20000] = 1 + 0x1p-20f;
  ExpectKeptAs("blocked", kDepth * 100 * 4 + 2 * kPadding, MatMul(3, kDepth, 100, weights, false));
}

TEST(SmallWeights, AreReadInAnotherLayout) {
  const std::vector<float> weights = Rounded<Float16>(Waves(200 * 96, 0.3));
  Product product = MatMul(5, 200, 96, weights, false);
  PlanRunner runner(std::move(product.graph));
  const std::vector<float> y = runner.Run({product.x});
  // The matrix is stored row-major, as another CPU would have packed it.
  std::vector<kit::PackedData> packed = runner.plan().packed();
  std::vector<Float16> plain;
  for (const float weight : weights) plain.push_back(Float16(weight));
  packed[0].format = "float16 blocked;200,96,;200,96,;96,1,;;;";
  packed[0].data = plain.data();
  packed[0].bytes = plain.size() * sizeof(Float16);
  PlanRunner loaded(kit::ir::Graph(runner.plan().def()), false, packed);
  EXPECT_THAT(loaded.plan().packed()[0].format, StartsWith("float16 "));
  EXPECT_THAT(loaded.Run({product.x}), ElementsAreArray(y));
  // A damaged context has memory for fewer elements than the layout needs.
  packed[0].bytes -= 2;
  packed[0].format = "float16 blocked;200,96,;200,96,;96,1,;;;";
  EXPECT_THROW(PlanRunner(kit::ir::Graph(runner.plan().def()), false, packed), kit::Error);
}

}  // namespace
}  // namespace epiphyte::test
