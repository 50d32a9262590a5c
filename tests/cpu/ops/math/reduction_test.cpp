// Reductions, softmax and normalizations: every combination of axes compared with plain loops, empty sets, extreme
// values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::ThrowsMessage;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Numbers(size_t count, float scale = 1.0f) {
  std::vector<float> numbers(count);
  uint32_t state = 12345;
  for (float& number : numbers) {
    state = state * 1664525u + 1013904223u;
    number = scale * (static_cast<float>(state >> 8) / 8388608.0f - 1.0f);
  }
  return numbers;
}

// Returns the elements that each output reduces. Bit d of `reduced` is set if axis d is reduced.
std::vector<std::vector<double>> Sets(const Shape& dims, const std::vector<float>& x, unsigned reduced) {
  int64_t outputs = 1;
  for (size_t d = 0; d < dims.size(); ++d) outputs *= reduced >> d & 1 ? 1 : dims[d];
  std::vector<std::vector<double>> sets(static_cast<size_t>(outputs));
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), output = 0, stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      if (!(reduced >> d & 1)) {
        output += rest % dims[d] * stride;
        stride *= dims[d];
      }
      rest /= dims[d];
    }
    sets[static_cast<size_t>(output)].push_back(static_cast<double>(x[i]));
  }
  return sets;
}

using SetFunction = std::function<double(const std::vector<double>&)>;

double Total(const std::vector<double>& set, double (*map)(double)) {
  double sum = 0;
  for (double value : set) sum += map(value);
  return sum;
}

struct ReduceCase {
  const char* op;
  SetFunction function;
};
const ReduceCase kCases[] = {
    {"ReduceSum", [](const auto& s) { return Total(s, [](double v) { return v; }); }},
    {"ReduceMean", [](const auto& s) { return Total(s, [](double v) { return v; }) / static_cast<double>(s.size()); }},
    {"ReduceL1", [](const auto& s) { return Total(s, [](double v) { return std::fabs(v); }); }},
    {"ReduceL2", [](const auto& s) { return std::sqrt(Total(s, [](double v) { return v * v; })); }},
    {"ReduceSumSquare", [](const auto& s) { return Total(s, [](double v) { return v * v; }); }},
    {"ReduceLogSumExp", [](const auto& s) { return std::log(Total(s, [](double v) { return std::exp(v); })); }},
    {"ReduceMax", [](const auto& s) { return *std::max_element(s.begin(), s.end()); }},
    {"ReduceMin", [](const auto& s) { return *std::min_element(s.begin(), s.end()); }},
    {"ReduceProd", [](const auto& s) { return std::accumulate(s.begin(), s.end(), 1.0, std::multiplies<>()); }},
};

TEST(Reduce, EverySetOfAxesAgreesWithPlainLoops) {
  const Shape dims = {3, 1, 40, 2, 5};
  const std::vector<float> x = Numbers(1200);
  for (const ReduceCase& test : kCases) {
    for (unsigned reduced = 1; reduced < 32; ++reduced) {
      std::vector<int64_t> axes;
      for (int64_t d = 0; d < 5; ++d) {
        if (reduced >> d & 1) axes.push_back(d % 2 == 0 ? d : d - 5);
      }
      OpRunner runner(test.op, 18);
      runner.Attribute("keepdims", 0).InputDatum(MakeDatum<float>(dims, x));
      runner.InputDatum(MakeDatum<int64_t>({static_cast<int64_t>(axes.size())}, axes));
      runner.Run();
      std::vector<float> expected;
      for (const auto& set : Sets(dims, x, reduced)) expected.push_back(static_cast<float>(test.function(set)));
      EXPECT_THAT(runner.Output<float>(0), Pointwise(FloatNear(1e-4f), expected)) << test.op << ' ' << reduced;
    }
  }
}

OpRunner Reduce(const std::string& op, int64_t version, cpu::Datum x) {
  OpRunner runner(op, version);
  runner.InputDatum(std::move(x));
  runner.Run();
  return runner;
}

TEST(Reduce, EmptySetsGiveTheNeutralElement) {
  const auto empty = MakeDatum<float>({2, 0}, std::vector<float>());
  const std::pair<const char*, float> cases[] = {
      {"ReduceSum", 0.0f},          {"ReduceProd", 1.0f},      {"ReduceMax", -kInfinity},
      {"ReduceMin", kInfinity},     {"ReduceL1", 0.0f},        {"ReduceL2", 0.0f},
      {"ReduceLogSum", -kInfinity}, {"ReduceSumSquare", 0.0f}, {"ReduceLogSumExp", -kInfinity}};
  for (const auto& [op, expected] : cases) {
    OpRunner runner(op, 20);
    runner.InputDatum(empty).Input<int64_t>({1}, {1});
    runner.Run();
    EXPECT_EQ(runner.Dims(0), (Shape{2, 1})) << op;
    EXPECT_THAT(runner.Output<float>(0), Each(expected)) << op;
  }
}

TEST(Reduce, WithNoopAndWithoutAxesTheInputIsTheOutput) {
  OpRunner runner("ReduceSum", 13);
  runner.Attribute("noop_with_empty_axes", 1).Input<float>({2}, {1, 2}).NoInput();
  runner.Run();
  EXPECT_THAT(runner.Output<float>(0), ElementsAre(1, 2));
}

TEST(Reduce, BeforeOpset18TheAxesAreAnAttribute) {
  OpRunner runner("ReduceMax", 13);
  runner.Attribute("axes", std::vector<int64_t>{-1}).Input<float>({2, 2}, {1, 2, 4, 3});
  runner.Run();
  EXPECT_EQ(runner.Dims(0), (Shape{2, 1}));
  EXPECT_THAT(runner.Output<float>(0), ElementsAre(2, 4));
}

TEST(Reduce, IntegersBooleansAndNaN) {
  EXPECT_THAT(Reduce("ReduceMean", 18, MakeDatum<int32_t>({4}, {1, 2, 3, 5})).Output<int32_t>(0), ElementsAre(2));
  EXPECT_THAT(Reduce("ReduceMax", 20, MakeDatum<bool>({2}, {false, true})).Output<bool>(0), ElementsAre(true));
  EXPECT_THAT(Reduce("ReduceMin", 20, MakeDatum<bool>({2}, {false, true})).Output<bool>(0), ElementsAre(false));
  std::vector<float> x(100, 1.0f);
  x[77] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Reduce("ReduceMax", 18, MakeDatum<float>({100}, x)).Output<float>(0)[0]));
}

// Rows of 1700 elements, reduced along either axis, are longer than the block that is reduced at once.
template <typename T>
void ExpectExtremesOfIntegers() {
  constexpr int64_t kRows = 3, kColumns = 1700;
  std::vector<T> x(kRows * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 7919 % 100 + 5);
  x[1699] = 1, x[1700] = 120, x[2 * 1700 + 255] = 0;
  for (int64_t axis : {0, 1}) {
    for (bool largest : {false, true}) {
      OpRunner runner(largest ? "ReduceMax" : "ReduceMin", 18);
      runner.Input<T>({kRows, kColumns}, x).template Input<int64_t>({1}, {axis}).Attribute("keepdims", 0);
      runner.Run();
      const std::vector<T> found = runner.Output<T>(0);
      for (size_t i = 0; i < found.size(); ++i) {
        std::vector<T> set;
        if (axis == 0)
          for (size_t r = 0; r < kRows; ++r) set.push_back(x[r * kColumns + i]);
        else
          set.assign(x.begin() + static_cast<int64_t>(i) * kColumns,
                     x.begin() + static_cast<int64_t>(i + 1) * kColumns);
        const auto [low, high] = std::minmax_element(set.begin(), set.end());
        ASSERT_EQ(found[i], largest ? *high : *low) << "axis " << axis << ", " << i;
      }
    }
  }
}
TEST(Reduce, ExtremesOfIntegersAreFoundInLongRowsAndColumns) {
  ExpectExtremesOfIntegers<uint8_t>();
  ExpectExtremesOfIntegers<int8_t>();
  ExpectExtremesOfIntegers<int32_t>();
  ExpectExtremesOfIntegers<int64_t>();
  ExpectExtremesOfIntegers<uint16_t>();
}

TEST(Reduce, LogSumExpNeitherOverflowsNorLosesInfinity) {
  EXPECT_THAT(Reduce("ReduceLogSumExp", 18, MakeDatum<float>({2}, {1000, 1000})).Output<float>(0),
              ElementsAre(FloatNear(1000.6931f, 1e-3f)));
  EXPECT_THAT(Reduce("ReduceLogSumExp", 18, MakeDatum<float>({2}, {kInfinity, 0})).Output<float>(0),
              ElementsAre(kInfinity));
}

TEST(Reduce, LongSumsStayAccurate) {
  const std::vector<float> ones(1 << 20, 0.1f);
  EXPECT_NEAR(Reduce("ReduceSum", 13, MakeDatum<float>({1 << 20}, ones)).Output<float>(0)[0], 104857.6, 2.0);
}

// Sums over many rows are accumulated in several parts.
TEST(Reduce, ManyRowsOfFewColumnsAgreeWithPlainLoops) {
  for (int64_t columns : {1, 5, 9, 16, 47, 100}) {
    const Shape dims = {2, 4001, columns};
    const std::vector<float> x = Numbers(static_cast<size_t>(2 * 4001 * columns));
    for (const ReduceCase& test : kCases) {
      if (std::string(test.op) == "ReduceProd") continue;
      OpRunner runner(test.op, 18);
      runner.Attribute("keepdims", 0).InputDatum(MakeDatum<float>(dims, x)).Input<int64_t>({1}, {1});
      runner.Run();
      const std::vector<float> found = runner.Output<float>(0);
      const auto sets = Sets(dims, x, 2);
      ASSERT_EQ(found.size(), sets.size());
      for (size_t i = 0; i < found.size(); ++i) {
        const double expected = test.function(sets[i]);
        ASSERT_NEAR(found[i], expected, 2e-3 + 1e-5 * std::fabs(expected)) << test.op << " of column " << i;
      }
    }
  }
  std::vector<int64_t> numbers(4001 * 10);
  std::iota(numbers.begin(), numbers.end(), 0);
  OpRunner runner("ReduceSum", 13);
  runner.Input<int64_t>({4001, 10}, numbers).Input<int64_t>({1}, {0});
  runner.Run();
  for (int64_t c = 0; c < 10; ++c)
    EXPECT_EQ(runner.Output<int64_t>(0)[static_cast<size_t>(c)], 10 * (4000 * 4001 / 2) + 4001 * c);
}

TEST(Reduce, TensorsInOtherOrdersAreFoldedAsTheyLie) {
  const Shape dims = {2, 32, 6, 7};
  const std::vector<float> x = Numbers(2 * 32 * 6 * 7);
  const cpu::AxisOrder orders[] = {{4, {0, 2, 3, 1}}, {4, {0, 1, 2, 3}, 16}, {4, {0, 1, 2, 3}, 8}, {4, {1, 0, 3, 2}}};
  for (const ReduceCase& test : kCases) {
    for (const cpu::AxisOrder& order : orders) {
      for (unsigned reduced = 1; reduced < 16; ++reduced) {
        std::vector<int64_t> axes;
        for (int64_t d = 0; d < 4; ++d)
          if (reduced >> d & 1) axes.push_back(d);
        OpRunner runner(test.op, 18);
        runner.InputDatum(MakeDatum<float>(dims, x)).InOrder(0, order);
        runner.Input<int64_t>({static_cast<int64_t>(axes.size())}, axes);
        runner.Run();
        std::vector<float> expected;
        for (const auto& set : Sets(dims, x, reduced)) expected.push_back(static_cast<float>(test.function(set)));
        EXPECT_THAT(runner.Output<float>(0), Pointwise(FloatNear(2e-4f), expected)) << test.op << ' ' << reduced;
        // Reductions over whole planes, or over all axes, need no reordered input.
        const bool of_planes = order.axes[0] == 0 && (reduced & 12) == 12;
        EXPECT_TRUE(!of_planes || runner.reorders() == 0) << test.op << ' ' << reduced;
      }
    }
  }
}

TEST(GlobalPools, FoldPlanesAsTheyLie) {
  for (int64_t images : {1, 3}) {
    const Shape dims = {images, 48, 33, 31};
    const std::vector<float> x = Numbers(static_cast<size_t>(images * 48 * 33 * 31));
    for (const cpu::AxisOrder& order : {cpu::AxisOrder{4, {0, 2, 3, 1}}, cpu::AxisOrder{4, {0, 1, 2, 3}, 16}}) {
      for (const auto& [pool, reduction] : {std::pair("GlobalAveragePool", 1), std::pair("GlobalMaxPool", 6),
                                            std::pair("AveragePool", 1), std::pair("MaxPool", 6)}) {
        OpRunner runner(pool, 1);
        if (std::string(pool).find("Global") != 0) runner.Attribute("kernel_shape", std::vector<int64_t>{33, 31});
        runner.InputDatum(MakeDatum<float>(dims, x)).InOrder(0, order);
        runner.Run();
        std::vector<float> expected;
        for (const auto& set : Sets(dims, x, 12))
          expected.push_back(static_cast<float>(kCases[reduction].function(set)));
        EXPECT_EQ(runner.OutputDatum(0).tensor.dims, (cpu::Dims{images, 48, 1, 1}));
        EXPECT_THAT(runner.Output<float>(0), Pointwise(FloatNear(1e-5f), expected)) << pool;
        EXPECT_EQ(runner.reorders(), 0) << pool;
      }
    }
  }
}

TEST(Reduce, AnAxisOutOfRangeIsAnError) {
  OpRunner runner("ReduceSum", 13);
  runner.Input<float>({2}, {1, 2}).Input<int64_t>({1}, {1});
  EXPECT_THAT([&] { runner.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("axis 1 found")));
}

TEST(ArgMax, FirstLastAndNaN) {
  OpRunner first("ArgMax", 13);
  first.Attribute("axis", 1).Input<int8_t>({2, 3}, {5, 9, 9, 1, 0, 1});
  first.Run();
  EXPECT_THAT(first.Output<int64_t>(0), ElementsAre(1, 0));
  OpRunner last("ArgMin", 13);
  last.Attribute("axis", 0).Attribute("select_last_index", 1).Attribute("keepdims", 0);
  last.Input<float>({3, 2}, {1, 2, 0, 1, 0, 1});
  last.Run();
  EXPECT_THAT(last.Output<int64_t>(0), ElementsAre(2, 2));
  OpRunner nan("ArgMax", 13);
  nan.Input<float>({3}, {1, std::numeric_limits<float>::quiet_NaN(), 5});
  nan.Run();
  EXPECT_THAT(nan.Output<int64_t>(0), ElementsAre(1));
}

// Some types are converted to float, others have loops of their own. All must find the same indices as float.
template <typename T>
void ExpectTheIndicesOfFloats() {
  const int64_t rows = 600, columns = 1030;  // more than are converted to float at once
  const Shape dims = {2, rows, columns};
  std::vector<float> numbers = Numbers(static_cast<size_t>(2 * rows * columns), 100.0f);
  for (float& number : numbers) number = std::round(std::fabs(number));
  std::vector<T> x;
  for (float number : numbers) x.push_back(static_cast<T>(number));
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (int64_t axis : {0, 1, 2}) {
      for (int64_t last : {0, 1}) {
        OpRunner floats(op, 13), others(op, 13);
        floats.Input<float>(dims, numbers).Attribute("axis", axis).Attribute("select_last_index", last).Run();
        others.Input<T>(dims, x).Attribute("axis", axis).Attribute("select_last_index", last).Run();
        ASSERT_EQ(others.Output<int64_t>(0), floats.Output<int64_t>(0)) << op << ", axis " << axis;
      }
    }
  }
}
TEST(ArgMax, EveryTypeFindsTheSameElements) {
  ExpectTheIndicesOfFloats<double>();
  ExpectTheIndicesOfFloats<int64_t>();
  ExpectTheIndicesOfFloats<int32_t>();
  ExpectTheIndicesOfFloats<int8_t>();
  ExpectTheIndicesOfFloats<uint8_t>();
  ExpectTheIndicesOfFloats<int16_t>();
  ExpectTheIndicesOfFloats<uint64_t>();
  ExpectTheIndicesOfFloats<kit::Float16>();
  ExpectTheIndicesOfFloats<kit::BFloat16>();
}

TEST(Reductions, KeepDimensionsOrDont) {
  for (const char* op_type : {"ReduceSum", "ReduceMax", "ArgMin"}) {
    OpRunner runner(op_type, 13);
    runner.Attribute("keepdims", 2).Input<float>({2}, {1, 2});
    EXPECT_THAT([&] { runner.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("keepdims 2 found, 0 or 1 expected")));
  }
}

TEST(ArgMax, AnEmptyAxisIsAnError) {
  OpRunner arg("ArgMax", 13);
  arg.Input<float>({0, 2}, {});
  EXPECT_THAT([&] { arg.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("empty")));
}

TEST(CumSum, ExclusiveAndReverse) {
  OpRunner sum("CumSum", 14);
  sum.Attribute("exclusive", 1)
      .Attribute("reverse", 1)
      .Input<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})
      .Input<int32_t>({}, {1});
  sum.Run();
  EXPECT_THAT(sum.Output<int32_t>(0), ElementsAre(5, 3, 0, 11, 6, 0));
}

// The sizes include columns for one thread, columns shared by threads, more columns than are taken at once, and more
// rows than a cache holds.
template <typename T>
void ExpectRunningSums(int64_t outer, int64_t size, int64_t inner) {
  const auto count = static_cast<size_t>(outer * size * inner);
  std::vector<T> x(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<T>(static_cast<float>(i * 7 % 5));
  for (const bool reverse : {false, true}) {
    for (const bool exclusive : {false, true}) {
      std::vector<T> expected(count);
      for (int64_t line = 0; line < outer * inner; ++line) {
        float total = 0;
        for (int64_t j = 0; j < size; ++j) {
          const int64_t row = reverse ? size - 1 - j : j;
          const auto at = static_cast<size_t>((line / inner * size + row) * inner + line % inner);
          if (exclusive) expected[at] = static_cast<T>(total);
          total += static_cast<float>(x[at]);
          if (!exclusive) expected[at] = static_cast<T>(total);
        }
      }
      OpRunner sum("CumSum", 14);
      sum.Attribute("exclusive", exclusive ? 1 : 0).Attribute("reverse", reverse ? 1 : 0);
      sum.Input<T>({outer, size, inner}, x).template Input<int64_t>({}, {1});
      sum.Run();
      const std::vector<T> found = sum.Output<T>(0);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(static_cast<float>(found[i]), static_cast<float>(expected[i]))
            << i << " of " << outer << "x" << size << "x" << inner << (reverse ? ", reverse" : "")
            << (exclusive ? ", exclusive" : "");
    }
  }
}
TEST(CumSum, OfColumnsThatAreSharedOrNot) {
  ExpectRunningSums<float>(1, 5, 3);
  ExpectRunningSums<float>(3, 40, 700);
  ExpectRunningSums<float>(1, 3, 9001);
  ExpectRunningSums<int32_t>(1, 600, 501);
  ExpectRunningSums<double>(2, 5, 3001);
  ExpectRunningSums<cpu::Float16>(2, 60, 601);
}

TEST(CumSum, OfAnEmptyAxisIsNothing) {
  for (const Shape& dims : {Shape{2, 0, 3}, Shape{2, 3, 0}, Shape{0, 2, 3}}) {
    for (const int64_t reverse : {0, 1}) {
      for (const int64_t exclusive : {0, 1}) {
        OpRunner sum("CumSum", 14);
        sum.Attribute("reverse", reverse).Attribute("exclusive", exclusive);
        sum.Input<float>(dims, {}).Input<int64_t>({}, {1});
        sum.Run();
        EXPECT_EQ(sum.Dims(0), dims);
      }
    }
  }
}

TEST(CumProd, MultipliesAlongTheAxis) {
  OpRunner product("CumProd", 26);
  product.Input<double>({3}, {1, 2, 3}).Input<int64_t>({}, {-1});
  product.Run();
  EXPECT_THAT(product.Output<double>(0), ElementsAre(1, 2, 6));
}

TEST(Softmax, BeforeOpset13EverythingFromTheAxisOnIsOneRow) {
  OpRunner old("Softmax", 11);
  old.Attribute("axis", 1).Input<float>({1, 2, 2}, {0, 0, 0, 0}).InPlace(true);
  old.Run();
  EXPECT_THAT(old.Output<float>(0), Each(0.25f));
  OpRunner fresh("Softmax", 13);
  fresh.Attribute("axis", 1).Input<float>({1, 2, 2}, {0, 0, 0, 0}).InPlace(true);
  fresh.Run();
  EXPECT_THAT(fresh.Output<float>(0), Each(0.5f));
}

TEST(Softmax, LargeNumbersDoNotOverflow) {
  OpRunner softmax("Softmax", 13);
  softmax.Input<float>({2, 3}, {1e30f, 0, -1e30f, -kInfinity, 1, 1});
  softmax.Run();
  EXPECT_THAT(softmax.Output<float>(0), ElementsAre(1, 0, 0, 0, 0.5f, 0.5f));
}

TEST(Softmax, AnyAxisAndTypeAgreesWithTheLastAxis) {
  const std::vector<float> x = Numbers(77, 5.0f);
  OpRunner rows("LogSoftmax", 13);
  rows.Attribute("axis", -1).Input<float>({1, 77}, x);
  rows.Run();
  OpRunner columns("LogSoftmax", 13);
  columns.Attribute("axis", 0).Input<double>({77, 1}, std::vector<double>(x.begin(), x.end()));
  columns.Run();
  const std::vector<double> expected = columns.Output<double>(0);
  EXPECT_THAT(rows.Output<float>(0), Pointwise(FloatNear(2e-6f), std::vector<float>(expected.begin(), expected.end())));
}

TEST(Softmax, DownColumnsGivesTheNumbersOfDoubles) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (int64_t columns : {2, 17, 600}) {
      std::vector<float> x = Numbers(static_cast<size_t>(2 * 5 * columns), 9.0f);
      x[0] = -kInfinity;
      OpRunner floats(op, 13), doubles(op, 13);
      floats.Attribute("axis", 1).Input<float>({2, 5, columns}, x).InPlace(true);
      doubles.Attribute("axis", 1).Input<double>({2, 5, columns}, std::vector<double>(x.begin(), x.end()));
      floats.Run();
      doubles.Run();
      const std::vector<float> found = floats.Output<float>(0);
      const std::vector<double> expected = doubles.Output<double>(0);
      for (size_t i = 0; i < found.size(); ++i) {
        if (std::isinf(expected[i])) {
          EXPECT_EQ(found[i], static_cast<float>(expected[i])) << op << i;
        } else {
          ASSERT_NEAR(found[i], expected[i], 3e-6) << op << ", element " << i << " of " << columns;
        }
      }
    }
  }
}

TEST(LayerNormalization, ScaleAndBiasMayBroadcast) {
  OpRunner norm("LayerNormalization", 17);
  norm.Attribute("axis", 1).Attribute("epsilon", 0.0f).Outputs(3);
  norm.Input<float>({1, 2, 2}, {1, 3, 1, 3}).Input<float>({2}, {1, 2}).Input<float>({2, 1}, {0, 10});
  norm.Run();
  EXPECT_THAT(norm.Output<float>(0), ElementsAre(-1, 2, 9, 12));
  EXPECT_EQ(norm.Dims(1), (Shape{1, 1, 1}));
  EXPECT_THAT(norm.Output<float>(1), ElementsAre(2));
  EXPECT_THAT(norm.Output<float>(2), ElementsAre(1));
}

TEST(LayerNormalization, AScaleThatDoesNotFitIsAnError) {
  OpRunner norm("LayerNormalization", 17);
  norm.Input<float>({1, 4}, {0, 0, 0, 0}).Input<float>({3}, {1, 1, 1});
  EXPECT_THROW(norm.Run(), kit::Error);
}

TEST(RMSNormalization, DividesByTheRootOfTheMeanSquare) {
  OpRunner norm("RMSNormalization", 23);
  norm.Attribute("epsilon", 0.0f).Input<float>({2, 2}, {3, 4, 0, 2}).Input<float>({2}, {1, 10});
  norm.Run();
  const float root = std::sqrt(12.5f);
  EXPECT_THAT(norm.Output<float>(0),
              ElementsAre(FloatNear(3 / root, 1e-6f), FloatNear(40 / root, 1e-5f), 0, FloatNear(14.142136f, 1e-5f)));
}

TEST(RMSNormalization, TheScaleGivesTheTypeOfTheResult) {
  OpRunner norm("RMSNormalization", 23);
  norm.Attribute("epsilon", 0.0f).Input<cpu::Float16>({1, 2}, {cpu::Float16(1.0f), cpu::Float16(-1.0f)});
  norm.Input<float>({2}, {3, 5});
  norm.Run();
  EXPECT_THAT(norm.Output<float>(0), ElementsAre(3, -5));
}

TEST(GroupNormalization, ScaleIsPerGroupInOpset18AndPerChannelIn21) {
  const std::vector<float> x = {0, 2, 0, 2, 1, 3, 1, 3};  // shape [1, 4, 2]: two groups of two channels
  OpRunner old("GroupNormalization", 18);
  old.Attribute("num_groups", 2).Attribute("epsilon", 0.0f);
  old.Input<float>({1, 4, 2}, x).Input<float>({2}, {1, 10}).Input<float>({2}, {0, 5});
  old.Run();
  EXPECT_THAT(old.Output<float>(0), ElementsAre(-1, 1, -1, 1, -5, 15, -5, 15));
  OpRunner fresh("GroupNormalization", 21);
  fresh.Attribute("num_groups", 2).Attribute("epsilon", 0.0f);
  fresh.Input<float>({1, 4, 2}, x).Input<float>({4}, {1, 2, 3, 4}).Input<float>({4}, {0, 0, 0, 1});
  fresh.Run();
  EXPECT_THAT(fresh.Output<float>(0), ElementsAre(-1, 1, -2, 2, -3, 3, -3, 5));
}

TEST(GroupNormalization, ChannelsMustDivide) {
  OpRunner norm("GroupNormalization", 21);
  norm.Attribute("num_groups", 3).Input<float>({1, 4, 1}, {1, 2, 3, 4});
  norm.Input<float>({4}, {1, 1, 1, 1}).Input<float>({4}, {0, 0, 0, 0});
  EXPECT_THAT([&] { norm.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("3 groups")));
}

TEST(LpNormalization, OfRowsAndOfColumns) {
  constexpr int64_t kRows = 20, kColumns = 150;
  std::vector<double> x;
  for (int64_t i = 0; i < kRows * kColumns; ++i) x.push_back(std::sin(static_cast<double>(i)));
  for (const int64_t axis : {0, 1}) {
    for (const int64_t p : {1, 2}) {
      OpRunner norm("LpNormalization", 22);
      norm.Attribute("p", p).Attribute("axis", axis).Input<double>({kRows, kColumns}, x).Run();
      const std::vector<double> y = norm.Output<double>(0);
      for (int64_t i = 0; i < kRows * kColumns; ++i) {
        double sum = 0;
        const int64_t count = axis == 0 ? kRows : kColumns;
        for (int64_t j = 0; j < count; ++j) {
          const double value =
              x[static_cast<size_t>(axis == 0 ? j * kColumns + i % kColumns : i / kColumns * kColumns + j)];
          sum += p == 1 ? std::fabs(value) : value * value;
        }
        const double expected = x[static_cast<size_t>(i)] / (p == 1 ? sum : std::sqrt(sum));
        ASSERT_NEAR(y[static_cast<size_t>(i)], expected, 1e-15) << "axis " << axis << ", p " << p << ", element " << i;
      }
    }
  }
}

TEST(LpNormalization, ZeroVectorsStayZero) {
  OpRunner norm("LpNormalization", 22);
  norm.Attribute("p", 1).Attribute("axis", 0).Input<float>({2, 2}, {1, 0, -3, 0});
  norm.Run();
  EXPECT_THAT(norm.Output<float>(0), ElementsAre(0.25f, 0, -0.75f, 0));
}

}  // namespace
}  // namespace epiphyte::test
