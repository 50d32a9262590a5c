// GEMMs in bfloat16 equal those of rounded operands, for every number of rows, in new plans and from contexts.
#include <gmock/gmock.h>

#include <cmath>

#include "epiphyte/kit/shape/float_types.hpp"
#include "plugins/cpu/onednn/bfloat16_panels.h"
#include "plugins/cpu/simd/gemm/amx.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using kit::ir::Attribute;
using testing::ElementsAreArray;
using testing::HasSubstr;

class Bfloat16Products : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::HasSplitProducts()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  }
};

std::vector<float> Waves(int64_t count, double step) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(static_cast<double>(i) * step));
  return values;
}

struct Shape {
  int64_t rows, k, n;
};

// Gemm or MatMul with a bias; then a sum with an input (kInput) or with a value of the plan (kProduct); then a sigmoid.
enum class Sum { kNone, kInput, kProduct };
struct Case {
  Shape shape;
  Sum sum = Sum::kNone;
  bool activation = false;
  bool transposed = false;  // A has the shape [k, rows]
};

kit::ir::Graph Graph(const Case& c) {
  const auto [rows, k, n] = c.shape;
  PlanBuilder b;
  const std::vector<int64_t> dims = {rows, n};
  const int32_t a = b.Input(c.transposed ? std::vector<int64_t>{k, rows} : std::vector<int64_t>{rows, k});
  const int32_t w = b.Constant({k, n}, Waves(k * n, 0.3)), bias = b.Constant({n}, Waves(n, 0.9));
  int32_t y = c.transposed ? b.Node("Gemm", 13, {a, w, bias}, dims, {Attribute::Int("transA", 1)})
                           : b.Node("Add", 14, {b.Node("MatMul", 13, {a, w}, dims), bias}, dims);
  if (c.sum != Sum::kNone) {
    int32_t other = b.Input(dims);
    // Only an intermediate value of the plan may be overwritten by the result.
    if (c.sum == Sum::kProduct) other = b.Node("Neg", 13, {other}, dims);
    y = b.Node("Add", 14, {y, other}, dims);
  }
  b.Output(c.activation ? b.Node("Sigmoid", 13, {y}, dims) : y);
  return b.Take();
}

std::vector<std::vector<float>> InputsOf(const Case& c) {
  std::vector<std::vector<float>> inputs = {Waves(c.shape.rows * c.shape.k, 0.7)};
  if (c.sum != Sum::kNone) inputs.push_back(Waves(c.shape.rows * c.shape.n, 0.2));
  return inputs;
}

void ExpectRoundedProduct(const Case& c, const std::vector<float>& found) {
  const auto [rows, k, n] = c.shape;
  const auto rounded = [](std::vector<float> values) {
    for (float& value : values) value = static_cast<float>(kit::BFloat16(value));
    return values;
  };
  const std::vector<std::vector<float>> inputs = InputsOf(c);
  const std::vector<float> a = rounded(inputs[0]), w = rounded(Waves(k * n, 0.3)), bias = Waves(n, 0.9);
  ASSERT_EQ(found.size(), static_cast<size_t>(rows * n));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<size_t>(r * n + j);
      double expected = bias[static_cast<size_t>(j)];
      for (int64_t i = 0; i < k; ++i)
        expected += static_cast<double>(a[static_cast<size_t>(c.transposed ? i * rows + r : r * k + i)]) *
                    w[static_cast<size_t>(i * n + j)];
      if (c.sum != Sum::kNone) expected += (c.sum == Sum::kProduct ? -1.0 : 1.0) * inputs[1][at];
      if (c.activation) expected = 1 / (1 + std::exp(-expected));
      ASSERT_NEAR(found[at], expected, static_cast<double>(k) * 0x1p-20 + 1e-5) << "row " << r << ", column " << j;
    }
  }
}

PlanRunner Runner(kit::ir::Graph graph, uint32_t threads = 1) {
  return PlanRunner(std::move(graph), true, {}, cpu::PlanOrigin::kMadeNow, true, false, threads);
}

void ExpectRoundedProduct(const Case& c, uint32_t threads = 1) {
  SCOPED_TRACE(::testing::Message() << c.shape.rows << " rows, " << c.shape.k << " x " << c.shape.n << ", sum "
                                    << static_cast<int>(c.sum) << ", activation " << c.activation << ", transposed "
                                    << c.transposed << ", " << threads << " threads");
  PlanRunner runner = Runner(Graph(c), threads);
  ASSERT_EQ(runner.plan().packed().size(), 1u);
  ASSERT_THAT(runner.plan().packed()[0].format, HasSubstr("products-in-bfloat16 "));
  ExpectRoundedProduct(c, runner.Run(InputsOf(c)));
}

TEST_F(Bfloat16Products, AreMadeFromPanelsOfSixtyFourColumns) {
  for (const Shape shape : {Shape{128, 768, 128}, Shape{16, 100, 200}, Shape{5, 70, 64}})
    EXPECT_THAT(Runner(Graph({shape})).plan().packed()[0].format, HasSubstr(";16,64,2,;0,1,0,;"));
}

TEST_F(Bfloat16Products, AreThoseOfRoundedOperands) {
  for (int64_t rows = 2; rows <= 40; ++rows) ExpectRoundedProduct({{rows, 100, 70}});
  for (const int64_t rows : {2, 9, 16, 33, 200}) {
    for (const int64_t k : {64, 75, 256, 300})
      for (const int64_t n : {64, 65, 100, 192}) ExpectRoundedProduct({{rows, k, n}});
  }
}

TEST_F(Bfloat16Products, TakeASumAndAnActivation) {
  for (const int64_t rows : {2, 17, 150})
    for (const int64_t n : {70, 128})
      for (const int64_t k : {100, 320})
        for (const Sum sum : {Sum::kNone, Sum::kInput, Sum::kProduct})
          for (const bool activation : {false, true}) ExpectRoundedProduct({{rows, k, n}, sum, activation});
}

TEST_F(Bfloat16Products, AreSharedByThreads) {
  for (const int64_t rows : {3, 130, 1100})
    for (const int64_t n : {64, 200, 900}) ExpectRoundedProduct({{rows, 300, n}, Sum::kInput, true}, 3);
}

TEST_F(Bfloat16Products, OfATransposedLeftSideAreTheSame) {
  for (const int64_t rows : {2, 17, 40}) ExpectRoundedProduct({{rows, 100, 70}, Sum::kNone, false, true});
}

TEST_F(Bfloat16Products, AgreeWithCpusWithoutTiles) {
  const Case c = {{40, 300, 150}, Sum::kInput, true};
  PlanRunner runner = Runner(Graph(c));
  const std::vector<float> y = runner.Run(InputsOf(c));
  const cpu::simd::WithoutAmx without;
  PlanRunner plain = Runner(Graph(c));
  ExpectRoundedProduct(c, plain.Run(InputsOf(c)));
  const std::vector<float> again = plain.Run(InputsOf(c));
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], again[i], 1e-4) << i;
}

TEST_F(Bfloat16Products, ComeFromAContextAsTheyWere) {
  const Case c = {{40, 300, 150}};
  PlanRunner made = Runner(Graph(c));
  const std::vector<float> y = made.Run(InputsOf(c));
  PlanRunner loaded(kit::ir::Graph(made.plan().def()), false, made.plan().packed());
  EXPECT_FALSE(loaded.plan().repacked());
  EXPECT_THAT(loaded.Run(InputsOf(c)), ElementsAreArray(y));
}

}  // namespace
}  // namespace epiphyte::test
