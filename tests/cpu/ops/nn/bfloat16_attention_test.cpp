// Attention in bfloat16: both matrix products are computed from rounded numbers, for all layouts of keys and values.
// Layouts that tiles can't be made from, and short inputs, are computed in float.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "epiphyte/kit/shape/float_types.hpp"
#include "plugins/cpu/onednn/split.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using kit::ir::Attribute;

class Bfloat16Attention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::HasSplitProducts()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  }
};

constexpr int64_t kBatches = 2, kHeads = 3;

struct Case {
  int64_t rows, keys, depth, width;
  // Orders in memory of the dimensions [batch, head, row, column]. Keys have the shape [batch, head, depth, keys].
  std::vector<int64_t> k_order = {0, 3, 1, 2}, v_order = {0, 2, 1, 3}, y_order = {0, 2, 1, 3};
  bool mask = true;
};

std::vector<float> Waves(int64_t count, double step) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(static_cast<double>(i) * step + static_cast<double>(i % 7)));
  return values;
}

std::vector<int64_t> Ordered(const std::vector<int64_t>& dims, const std::vector<int64_t>& order) {
  std::vector<int64_t> result;
  for (const int64_t d : order) result.push_back(dims[static_cast<size_t>(d)]);
  return result;
}

struct Dims {
  std::vector<int64_t> q, k, v, y;
  explicit Dims(const Case& c)
      : q{kBatches, kHeads, c.rows, c.depth},
        k{kBatches, kHeads, c.depth, c.keys},
        v{kBatches, kHeads, c.keys, c.width},
        y{kBatches, kHeads, c.rows, c.width} {}
};

const std::vector<int64_t> kQueryOrder = {0, 2, 1, 3};

// Returns the index of element (b, h, i, j) in a tensor with its dimensions in `order`.
size_t At(const std::vector<int64_t>& dims, const std::vector<int64_t>& order, const std::array<int64_t, 4>& index) {
  int64_t at = 0;
  for (const int64_t d : order) at = at * dims[static_cast<size_t>(d)] + index[static_cast<size_t>(d)];
  return static_cast<size_t>(at);
}

kit::ir::Graph Graph(const Case& c) {
  const Dims dims(c);
  PlanBuilder b;
  const auto input = [&](const std::vector<int64_t>& of, const std::vector<int64_t>& order) {
    const int32_t lies = b.Input(Ordered(of, order));
    std::vector<int64_t> back(4);
    for (size_t i = 0; i < 4; ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return b.Node("Transpose", 13, {lies}, of, {Attribute::Ints("perm", back)});
  };
  const int32_t q = input(dims.q, kQueryOrder), k = input(dims.k, c.k_order), v = input(dims.v, c.v_order);
  const std::vector<int64_t> scores = {kBatches, kHeads, c.rows, c.keys};
  int32_t s = b.Node("Mul", 14, {b.Node("MatMul", 13, {q, k}, scores), b.Constant({}, {0.25f})}, scores);
  if (c.mask) s = b.Node("Add", 14, {s, b.Input({1, 1, 1, c.keys})}, scores);
  s = b.Node("Softmax", 13, {s}, scores);
  b.Output(b.Node("Transpose", 13, {b.Node("MatMul", 13, {s, v}, dims.y)}, Ordered(dims.y, c.y_order),
                  {Attribute::Ints("perm", c.y_order)}));
  return b.Take();
}

std::vector<std::vector<float>> InputsOf(const Case& c) {
  std::vector<std::vector<float>> inputs = {Waves(kBatches * kHeads * c.rows * c.depth, 0.7),
                                            Waves(kBatches * kHeads * c.keys * c.depth, 0.3),
                                            Waves(kBatches * kHeads * c.keys * c.width, 0.9)};
  if (c.mask) {
    inputs.emplace_back(static_cast<size_t>(c.keys), 0.0f);
    for (size_t i = 2; i < inputs.back().size(); i += 5) inputs.back()[i] = -1e9f;
  }
  return inputs;
}

// `rounded` is applied to each operand of the products.
template <typename Rounded>
std::vector<float> Expected(const Case& c, const Rounded& rounded) {
  const Dims dims(c);
  const std::vector<std::vector<float>> inputs = InputsOf(c);
  std::vector<float> y(static_cast<size_t>(kBatches * kHeads * c.rows * c.width));
  std::vector<double> weights(static_cast<size_t>(c.keys));
  for (int64_t b = 0; b < kBatches; ++b) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t r = 0; r < c.rows; ++r) {
        double most = -1e30, total = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
          double score = 0;
          for (int64_t d = 0; d < c.depth; ++d)
            score += rounded(inputs[0][At(dims.q, kQueryOrder, {b, h, r, d})]) *
                     rounded(inputs[1][At(dims.k, c.k_order, {b, h, d, j})]);
          weights[static_cast<size_t>(j)] = score * 0.25 + (c.mask ? inputs[3][static_cast<size_t>(j)] : 0.0);
          most = std::max(most, weights[static_cast<size_t>(j)]);
        }
        for (double& weight : weights) total += weight = std::exp(weight - most);
        for (int64_t w = 0; w < c.width; ++w) {
          double sum = 0;
          for (int64_t j = 0; j < c.keys; ++j)
            sum += rounded(static_cast<float>(weights[static_cast<size_t>(j)] / total)) *
                   rounded(inputs[2][At(dims.v, c.v_order, {b, h, j, w})]);
          y[At(dims.y, c.y_order, {b, h, r, w})] = static_cast<float>(sum);
        }
      }
    }
  }
  return y;
}

// Returns the largest distance between elements of two results.
double Apart(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(static_cast<double>(a[i]) - b[i]));
  return most;
}

void ExpectProducts(const Case& c, bool in_bfloat16, uint32_t threads = 1) {
  SCOPED_TRACE(::testing::Message() << c.rows << " rows, " << c.keys << " keys, " << c.depth << " and " << c.width
                                    << " columns, mask " << c.mask << ", " << threads << " threads");
  PlanRunner runner(Graph(c), true, {}, cpu::PlanOrigin::kMadeNow, true, false, threads);
  ASSERT_THAT(Operators(runner.plan().def()), testing::StartsWith("Attention*"));
  const std::vector<float> y = runner.Run(InputsOf(c));
  const double from_exact = Apart(y, Expected(c, [](float x) { return static_cast<double>(x); }));
  if (!in_bfloat16) {
    EXPECT_LT(from_exact, 1e-5);
    return;
  }
  EXPECT_GT(from_exact, 1e-5) << "as floats would give";
  // A softmax weight may be rounded to the other neighbour, so the results need not be equal.
  EXPECT_LT(Apart(y, Expected(c, [](float x) { return static_cast<double>(static_cast<float>(kit::BFloat16(x))); })),
            0x1p-10);
}

TEST_F(Bfloat16Attention, IsThatOfRoundedNumbers) {
  for (const int64_t rows : {16, 17, 33, 70})
    for (const int64_t keys : {16, 31, 64, 77}) ExpectProducts({rows, keys, 32, 32}, true);
  for (const int64_t depth : {7, 33, 64})
    for (const int64_t width : {5, 16, 65}) ExpectProducts({20, 40, depth, width}, true);
  ExpectProducts({40, 300, 64, 64}, true);
}

TEST_F(Bfloat16Attention, TakesKeysAndValuesEitherWayRound) {
  const std::vector<int64_t> rows = {0, 1, 2, 3}, columns = {0, 1, 3, 2};
  for (const auto& k_order : {rows, columns})
    for (const auto& v_order : {rows, columns})
      for (const auto& y_order : {rows, columns})
        for (const bool mask : {false, true}) ExpectProducts({18, 50, 24, 40, k_order, v_order, y_order, mask}, true);
}

TEST_F(Bfloat16Attention, IsThatOfFloatsWhereTilesDoNotFit) {
  ExpectProducts({15, 40, 32, 32}, false);
  ExpectProducts({40, 15, 32, 32}, false);
  const std::vector<int64_t> rows = {0, 1, 2, 3}, apart = {0, 2, 3, 1};
  ExpectProducts({20, 40, 32, 32, apart, rows}, false);
  ExpectProducts({20, 40, 32, 32, rows, apart}, false);
}

TEST_F(Bfloat16Attention, IsSharedByThreads) {
  for (const uint32_t threads : {2, 5, 16}) ExpectProducts({100, 50, 32, 32}, true, threads);
}

}  // namespace
}  // namespace epiphyte::test
