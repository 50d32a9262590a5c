// Products of a model of float16 by parts of bfloat16: as near to those of floats as the parts allow, in plans and in
// contexts.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/float_types.hpp"
#include "plugins/cpu/onednn/split.h"
#include "plugins/cpu/simd/amx.h"
#include "tests/cpu/plan_host.h"

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

PlanRunner Split(kit::ir::Graph graph, std::vector<kit::PackedData> packed = {}) {
  return PlanRunner(std::move(graph), packed.empty(), std::move(packed), cpu::PlanOrigin::kMadeNow, false, true);
}

// As near to the plan of floats as sums of `terms` products of numbers up to 1 allow, but not the same.
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

TEST_F(SplitProducts, ComeFromAContextAsTheyWere) {
  const std::vector<std::vector<float>> inputs = {Waves(20 * 256, 0.7)};
  PlanRunner made = Split(MatMul(20, 256, 128, true, false));
  const std::vector<float> y = made.Run(inputs);
  PlanRunner loaded(kit::ir::Graph(made.plan().def()), false, made.plan().packed());
  EXPECT_FALSE(loaded.plan().repacked());
  EXPECT_THAT(loaded.Run(inputs), ElementsAreArray(y));
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
  PlanRunner plain(MatMul(20, 250, 120, true, false));
  PlanRunner made = Split(MatMul(20, 250, 120, true, false));
  const cpu::simd::WithoutAmx none;
  PlanRunner loaded(kit::ir::Graph(made.plan().def()), false, made.plan().packed());
  const std::vector<float> exact = plain.Run(inputs), found = loaded.Run(inputs);
  ASSERT_EQ(found.size(), exact.size());
  for (size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(found[i], exact[i], 1e-6) << "element " << i;
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
  // And by parts again.
  x[700] = 0;
  ExpectNear(split.Run({x}), plain.Run({x}), 256);
}

}  // namespace
}  // namespace epiphyte::test
