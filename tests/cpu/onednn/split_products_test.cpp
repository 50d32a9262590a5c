// GEMMs with numbers split into parts of bfloat16: results are as close to those of floats as the parts allow, in new
// plans and from contexts.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/float_types.hpp"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/split.h"
#include "plugins/cpu/simd/gemm/amx.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using kit::Float16;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::StartsWith;

class SplitProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::HasSplitProducts()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  }
};

std::vector<float> Waves(int64_t count, double step, bool halves = false) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(static_cast<double>(i) * step));
    if (halves) values[i] = static_cast<float>(Float16(values[i]));
  }
  return values;
}

PlanRunner Split(kit::ir::Graph graph, uint32_t threads = 1) {
  return PlanRunner(std::move(graph), true, {}, cpu::PlanOrigin::kMadeNow, false, true, threads);
}

// Results differ from the float plan's, by no more than sums of `terms` products of numbers up to 1 allow.
void ExpectNear(const std::vector<float>& found, const std::vector<float>& exact, int64_t terms) {
  ASSERT_EQ(found.size(), exact.size());
  float most = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], exact[i], 0x1p-16 * static_cast<double>(terms)) << "element " << i;
    most = std::max(most, std::abs(found[i] - exact[i]));
  }
  EXPECT_GT(most, 0) << "as floats would give";
}

kit::ir::Graph MatMul(int64_t rows, int64_t k, int64_t n, std::vector<float> weights, bool sum) {
  PlanBuilder b;
  int32_t y = b.Node("MatMul", 13, {b.Input({rows, k}), b.Constant({k, n}, std::move(weights))}, {rows, n});
  y = b.Node("Add", 14, {y, b.Constant({n}, Waves(n, 0.9))}, {rows, n});
  if (sum) y = b.Node("Add", 14, {y, b.Input({rows, n})}, {rows, n});
  b.Output(b.Node("Sigmoid", 13, {y}, {rows, n}));
  return b.Take();
}

kit::ir::Graph MatMul(int64_t rows, int64_t k, int64_t n, bool halves, bool sum) {
  return MatMul(rows, k, n, Waves(k * n, 0.3, halves), sum);
}

TEST_F(SplitProducts, OfAMatMulAreWithinTheirParts) {
  for (const int64_t rows : {9, 16, 200}) {
    for (const bool halves : {true, false}) {
      for (const bool sum : {true, false}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows, halves " << halves << ", sum " << sum);
        std::vector<std::vector<float>> inputs = {Waves(rows * 100, 0.7)};
        if (sum) inputs.push_back(Waves(rows * 70, 0.2));
        PlanRunner plain(MatMul(rows, 100, 70, halves, sum));
        PlanRunner split = Split(MatMul(rows, 100, 70, halves, sum));
        ASSERT_EQ(split.plan().packed().size(), 1u);
        EXPECT_THAT(split.plan().packed()[0].format, HasSubstr(";16,32,2,;0,1,0,;")) << "for split products";
        ExpectNear(split.Run(inputs), plain.Run(inputs), 100);
      }
    }
  }
}

TEST_F(SplitProducts, KeepWeightsOfFloat16AsTheyAre) {
  PlanRunner split = Split(MatMul(20, 256, 128, true, false));
  ASSERT_EQ(split.plan().packed().size(), 1u);
  EXPECT_THAT(split.plan().packed()[0].format, StartsWith("float16 "));
  EXPECT_EQ(split.plan().packed()[0].bytes, 256u * 128u * 2u);
}

// The parts take as many bytes as the floats, and the plan keeps no other copy.
TEST_F(SplitProducts, KeepOtherWeightsInPartsOfTheSizeOfFloats) {
  PlanRunner split = Split(MatMul(20, 256, 128, false, false));
  ASSERT_EQ(split.plan().packed().size(), 1u);
  EXPECT_THAT(split.plan().packed()[0].format, StartsWith("parts-of-bfloat16 "));
  EXPECT_EQ(split.plan().packed()[0].bytes, 256u * 128u * 4u);
}

TEST_F(SplitProducts, ComeFromAContextAsTheyWere) {
  const std::vector<std::vector<float>> inputs = {Waves(20 * 256, 0.7)};
  for (const bool halves : {true, false}) {
    SCOPED_TRACE(halves);
    PlanRunner made = Split(MatMul(20, 256, 128, halves, false));
    const std::vector<float> y = made.Run(inputs);
    PlanRunner loaded(kit::ir::Graph(made.plan().def()), false, made.plan().packed());
    EXPECT_FALSE(loaded.plan().repacked());
    EXPECT_THAT(loaded.Run(inputs), ElementsAreArray(y));
  }
}

// Contexts written before weights were split into parts hold the weights as floats.
TEST_F(SplitProducts, FromAContextOfFloatsBecomeParts) {
  const std::vector<std::vector<float>> inputs = {Waves(20 * 256, 0.7)};
  PlanRunner made = Split(MatMul(20, 256, 128, false, false));
  const std::vector<float> y = made.Run(inputs);
  std::vector<kit::PackedData> packed = made.plan().packed();
  ASSERT_EQ(packed.size(), 1u);
  std::vector<float> floats(256 * 128);
  cpu::simd::JoinWeights(static_cast<const uint16_t*>(packed[0].data), 256 * 128, floats.data());
  packed[0].data = floats.data();
  packed[0].format.erase(0, packed[0].format.find(' ') + 1);
  PlanRunner loaded(kit::ir::Graph(made.plan().def()), false, packed);
  EXPECT_TRUE(loaded.plan().repacked());
  EXPECT_THAT(loaded.plan().packed()[0].format, StartsWith("parts-of-bfloat16 "));
  const std::vector<float> found = loaded.Run(inputs);
  ASSERT_EQ(found.size(), y.size());
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(found[i], y[i], 1e-4) << "element " << i;
}

TEST_F(SplitProducts, FromAContextArePartsOfWholePanelsOrRefused) {
  PlanRunner made = Split(MatMul(20, 100, 70, false, false));
  std::vector<kit::PackedData> packed = made.plan().packed();
  ASSERT_EQ(packed.size(), 1u);
  // The layout is row-major, as in the model. Parts are always in panels.
  packed[0].format =
      "parts-of-bfloat16 " + cpu::DescToText(cpu::PlainDesc(EP_TYPE_FLOAT, std::vector<int64_t>{100, 70}));
  EXPECT_THROW(PlanRunner(kit::ir::Graph(made.plan().def()), false, packed), kit::Error);
}

TEST_F(SplitProducts, AreNotMadeOfWeightsThatAreNotFiniteOrBeyondTheirParts) {
  const std::vector<std::vector<float>> inputs = {Waves(20 * 256, 0.7)};
  for (const float extreme : {-INFINITY, INFINITY, NAN, 3e38f}) {
    SCOPED_TRACE(extreme);
    std::vector<float> weights = Waves(256 * 128, 0.3, true);
    weights[300 * 128 % weights.size() + 5] = extreme;
    PlanRunner plain(MatMul(20, 256, 128, weights, false));
    PlanRunner split = Split(MatMul(20, 256, 128, weights, false));
    const std::vector<float> exact = plain.Run(inputs), found = split.Run(inputs);
    for (size_t i = 0; i < exact.size(); ++i) {
      ASSERT_EQ(std::isnan(found[i]), std::isnan(exact[i])) << i;
      if (std::isnan(exact[i])) continue;
      ASSERT_NEAR(found[i], exact[i], 1e-4) << i;
    }
  }
}

TEST_F(SplitProducts, FromAContextAreMadeWithFloatsWhereThereAreNoTiles) {
  const std::vector<std::vector<float>> inputs = {Waves(20 * 250, 0.7)};
  for (const bool halves : {true, false}) {
    SCOPED_TRACE(halves);
    PlanRunner plain(MatMul(20, 250, 120, halves, false));
    PlanRunner made = Split(MatMul(20, 250, 120, halves, false));
    const cpu::simd::WithoutAmx none;
    PlanRunner loaded(kit::ir::Graph(made.plan().def()), false, made.plan().packed());
    const std::vector<float> exact = plain.Run(inputs), found = loaded.Run(inputs);
    ASSERT_EQ(found.size(), exact.size());
    for (size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(found[i], exact[i], halves ? 1e-6 : 1e-4) << "element " << i;
  }
}

TEST_F(SplitProducts, AreMadeWithFloatsWhereANumberIsNotFinite) {
  std::vector<float> x = Waves(20 * 256, 0.7);
  x[700] = INFINITY;
  PlanRunner plain(MatMul(20, 256, 128, true, false));
  PlanRunner split = Split(MatMul(20, 256, 128, true, false));
  const std::vector<float> exact = plain.Run({x}), found = split.Run({x});
  for (size_t i = 0; i < exact.size(); ++i) {
    ASSERT_EQ(std::isnan(found[i]), std::isnan(exact[i])) << i;
    if (std::isnan(exact[i])) continue;
    ASSERT_NEAR(found[i], exact[i], 1e-4) << i;
  }
  // With finite inputs again, the product uses parts again.
  x[700] = 0;
  ExpectNear(split.Run({x}), plain.Run({x}), 256);
}

// --- convolutions

struct Convolution {
  std::vector<int64_t> x, w, y;  // dimensions
  int64_t stride = 1, dilation = 1, pad = 0;
  std::string activation = "";
  bool residual = false;
};
std::ostream& operator<<(std::ostream& out, const Convolution& c) {
  return out << testing::PrintToString(c.x) << " * " << testing::PrintToString(c.w) << ", stride " << c.stride
             << ", dilation " << c.dilation << ", pad " << c.pad << " " << c.activation << ", residual " << c.residual;
}
int64_t Count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

// A convolution and the operators that may be fused to it.
kit::ir::Graph Graph(const Convolution& c, bool halves) {
  using kit::ir::Attribute;
  const size_t spatial = c.x.size() - 2;
  PlanBuilder b;
  int32_t y = b.Node(
      "Conv", 11,
      {b.Input(c.x), b.Constant(c.w, Waves(Count(c.w), 0.3, halves)), b.Constant({c.w[0]}, Waves(c.w[0], 0.9))}, c.y,
      {Attribute::Ints("strides", std::vector<int64_t>(spatial, c.stride)),
       Attribute::Ints("dilations", std::vector<int64_t>(spatial, c.dilation)),
       Attribute::Ints("pads", std::vector<int64_t>(2 * spatial, c.pad))});
  if (c.residual) y = b.Node("Add", 14, {y, b.Input(c.y)}, c.y);
  if (!c.activation.empty()) y = b.Node(c.activation, 14, {y}, c.y);
  b.Output(y);
  return b.Take();
}

TEST_F(SplitProducts, OfConvolutionsAreWithinTheirParts) {
  const Convolution kCases[] = {
      {{1, 168, 9, 11}, {130, 168, 1, 1}, {1, 130, 9, 11}},
      {{1, 32, 9, 11}, {33, 32, 3, 3}, {1, 33, 9, 11}, 1, 1, 1},
      {{2, 64, 30, 31}, {32, 64, 3, 3}, {2, 32, 30, 31}, 1, 1, 1, "Relu", true},
      {{1, 64, 12, 13}, {70, 64, 3, 3}, {1, 70, 6, 7}, 2, 1, 1, "Relu"},
      {{1, 64, 12, 13}, {70, 64, 1, 1}, {1, 70, 6, 7}, 2, 1, 0},
      {{1, 16, 20, 20}, {16, 16, 5, 5}, {1, 16, 6, 6}, 3, 1, 0, "Sigmoid", true},
      {{1, 48, 20, 15}, {64, 48, 3, 3}, {1, 64, 20, 15}, 1, 2, 2},
      {{1, 48, 21, 15}, {64, 48, 3, 3}, {1, 64, 11, 8}, 2, 3, 3},
      {{1, 32, 2, 2}, {64, 32, 3, 3}, {1, 64, 4, 4}, 1, 1, 2},
      {{3, 48, 50}, {64, 48, 3}, {3, 64, 50}, 1, 1, 1, "Tanh"},
      {{1, 64, 7, 7}, {512, 64, 3, 3}, {1, 512, 7, 7}, 1, 1, 1, "", true},
  };
  for (const Convolution& c : kCases) {
    for (const bool halves : {true, false}) {
      SCOPED_TRACE(::testing::Message() << c << ", halves " << halves);
      std::vector<std::vector<float>> inputs = {Waves(Count(c.x), 0.7)};
      if (c.residual) inputs.push_back(Waves(Count(c.y), 0.2));
      PlanRunner plain(Graph(c, halves));
      PlanRunner split = Split(Graph(c, halves));
      ASSERT_EQ(split.plan().packed().size(), 1u);
      EXPECT_THAT(split.plan().packed()[0].format, HasSubstr(";16,32,2,;1,0,1,;")) << "for split products";
      const std::vector<float> exact = plain.Run(inputs), found = split.Run(inputs);
      ExpectNear(found, exact, Count(c.w) / c.w[0]);
      EXPECT_THAT(split.Run(inputs), ElementsAreArray(found)) << "once more";
    }
  }
}

TEST_F(SplitProducts, OfConvolutionsAreTheSameForManyThreads) {
  // The first two cases have few positions: each thread computes all of them for some of the filters. The third has
  // many.
  const Convolution kCases[] = {
      {{1, 64, 7, 7}, {200, 64, 3, 3}, {1, 200, 7, 7}, 1, 1, 1, "Sigmoid", true},
      {{1, 64, 12, 13}, {200, 64, 3, 3}, {1, 200, 6, 7}, 2, 1, 1, "Tanh"},
      {{2, 64, 40, 37}, {96, 64, 1, 1}, {2, 96, 40, 37}, 1, 1, 0, "Sigmoid"},
  };
  for (const Convolution& c : kCases) {
    SCOPED_TRACE(c);
    std::vector<std::vector<float>> inputs = {Waves(Count(c.x), 0.7)};
    if (c.residual) inputs.push_back(Waves(Count(c.y), 0.2));
    const std::vector<float> alone = Split(Graph(c, false)).Run(inputs);
    EXPECT_THAT(Split(Graph(c, false), 4).Run(inputs), ElementsAreArray(alone));
  }
}

TEST_F(SplitProducts, AreNotForShortSumsOfRowMajorImages) {
  for (const bool halves : {true, false}) {
    const Convolution c = {{2, 256, 9, 11}, {64, 256, 1, 1}, {2, 64, 9, 11}, 1, 1, 0, "Relu"};
    PlanRunner plain(Graph(c, halves));
    PlanRunner split = Split(Graph(c, halves));
    EXPECT_THAT(split.plan().packed()[0].format, HasSubstr(";16,32,2,;1,0,1,;")) << "as other shapes like it";
    const std::vector<std::vector<float>> inputs = {Waves(Count(c.x), 0.7)};
    const std::vector<float> exact = plain.Run(inputs), found = split.Run(inputs);
    // The split into parts drops the lowest bits of float weights, so their bound is larger.
    const double bound = halves ? 5e-5 : 1e-4;
    for (size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(found[i], exact[i], bound) << i;
  }
}

TEST_F(SplitProducts, OfConvolutionsFollowEachOther) {
  const auto build = [] {
    using kit::ir::Attribute;
    const std::vector<Attribute> padded = {Attribute::Ints("pads", {1, 1, 1, 1})};
    PlanBuilder b;
    const int32_t x = b.Input({1, 32, 14, 14});
    int32_t y = b.Node("Conv", 11, {x, b.Constant({64, 32, 3, 3}, Waves(64 * 32 * 9, 0.3))}, {1, 64, 14, 14}, padded);
    y = b.Node("Relu", 14, {y}, {1, 64, 14, 14});
    y = b.Node("Conv", 11, {y, b.Constant({32, 64, 1, 1}, Waves(32 * 64, 0.4))}, {1, 32, 14, 14});
    y = b.Node("Add", 14, {y, x}, {1, 32, 14, 14});
    y = b.Node("Relu", 14, {y}, {1, 32, 14, 14});
    b.Output(b.Node("GlobalAveragePool", 1, {y}, {1, 32, 1, 1}));
    return b.Take();
  };
  const std::vector<std::vector<float>> inputs = {Waves(32 * 14 * 14, 0.7)};
  PlanRunner plain(build());
  PlanRunner split = Split(build());
  ExpectNear(split.Run(inputs), plain.Run(inputs), 2000);
}

TEST_F(SplitProducts, OfConvolutionsComeFromAContextAndAreMadeWithFloatsWhereANumberIsNotFinite) {
  const Convolution c = {{1, 64, 12, 13}, {64, 64, 3, 3}, {1, 64, 12, 13}, 1, 1, 1, "Relu", true};
  std::vector<std::vector<float>> inputs = {Waves(Count(c.x), 0.7), Waves(Count(c.y), 0.2)};
  for (const bool halves : {true, false}) {
    SCOPED_TRACE(halves);
    PlanRunner plain(Graph(c, halves));
    PlanRunner made = Split(Graph(c, halves));
    EXPECT_THAT(made.plan().packed()[0].format, StartsWith(halves ? "float16 " : "parts-of-bfloat16 "));
    inputs[0][700] = 0;
    const std::vector<float> y = made.Run(inputs);
    PlanRunner loaded(kit::ir::Graph(made.plan().def()), false, made.plan().packed());
    EXPECT_FALSE(loaded.plan().repacked());
    EXPECT_THAT(loaded.Run(inputs), ElementsAreArray(y));
    inputs[0][700] = INFINITY;
    const std::vector<float> exact = plain.Run(inputs);
    for (PlanRunner* split : {&made, &loaded}) {
      const std::vector<float> found = split->Run(inputs);
      for (size_t i = 0; i < exact.size(); ++i) {
        ASSERT_EQ(std::isfinite(found[i]), std::isfinite(exact[i])) << i;
        if (!std::isfinite(exact[i])) continue;
        ASSERT_NEAR(found[i], exact[i], halves ? 1e-4 : 2e-3) << i;
      }
    }
    inputs[0][700] = 0;
    ExpectNear(made.Run(inputs), plain.Run(inputs), 64 * 9);
  }
}

}  // namespace
}  // namespace epiphyte::test
