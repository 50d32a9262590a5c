// Reduction of a row to one value, and of several rows to one row.
#include "plugins/cpu/simd/reduce/reduce.h"

#include <functional>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

struct Case {
  const char* name;
  Reduction reduction;
  double initial;
  std::function<double(double, double)> value;  // function of x and the shift; its results are combined
  std::function<double(double, double)> combine;
  double units = 0.5;  // error of `value`, in units of its last place
};
double First(double x, double) { return x; }
double Sum(double a, double b) { return a + b; }
const Case kCases[] = {
    {"Sum", Reduction::kSum, 0, First, Sum},
    {"Product", Reduction::kProduct, 1, First, [](double a, double b) { return a * b; }},
    {"SumOfMagnitudes", Reduction::kSumOfMagnitudes, 0, [](double x, double) { return std::fabs(x); }, Sum},
    {"SumOfSquares", Reduction::kSumOfSquares, 0, [](double x, double) { return x * x; }, Sum},
    {"SumOfExponentials", Reduction::kSumOfExponentials, 0, [](double x, double s) { return std::exp(x - s); }, Sum, 4},
    {"SumOfSquaredDistances", Reduction::kSumOfSquaredDistances, 0,
     [](double x, double s) { return (x - s) * (x - s); }, Sum, 2},
    {"Largest", Reduction::kLargest, -kInfinity, First, [](double a, double b) { return a > b ? a : b; }},
    {"Smallest", Reduction::kSmallest, kInfinity, First, [](double a, double b) { return a < b ? a : b; }},
};
static_assert(std::size(kCases) == kReductionCount);

bool Selects(const Case& test) {
  return test.reduction == Reduction::kLargest || test.reduction == Reduction::kSmallest;
}

using Reductions = EachTarget;
EPIPHYTE_EACH_TARGET(Reductions);

TEST_P(Reductions, OfRowsAreAsPreciseAsLanesAndRunsMakeThem) {
  std::vector<int64_t> lengths = Lengths();
  lengths.push_back(100003);
  for (const Case& test : kCases) {
    const bool product = test.reduction == Reduction::kProduct;
    const ReduceLoop loop(test.reduction);
    for (int64_t n : lengths) {
      if (n == 0) continue;
      GuardedRow<float> x(product ? RandomFloats(n, 0.99f, 1.01f) : RandomFloats(n, -2, 3));
      double expected = test.initial, magnitudes = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double value = test.value(x[i], 0.5f);
        expected = test.combine(expected, value);
        magnitudes += std::fabs(value);
      }
      // Number of additions that a value goes through: within its lane, between the lanes, and between runs of 4096.
      const double steps = test.units + static_cast<double>(std::min<int64_t>(n, 4096)) / 32 + 6 + n / 4096.0;
      const double bound = Selects(test) ? 0 : steps * 0x1p-24 * (product ? expected * 32 : magnitudes);
      EXPECT_LE(std::fabs(loop(x.data(), n, 0.5f) - expected), bound) << test.name << " of " << n << " floats";
    }
  }
}

TEST_P(Reductions, OfDoubles) {
  std::vector<int64_t> lengths = Lengths();
  lengths.push_back(100003);
  for (const Case& test : kCases) {
    if (test.reduction == Reduction::kSumOfExponentials) continue;
    const bool product = test.reduction == Reduction::kProduct;
    const DoubleReduceLoop loop(test.reduction);
    EXPECT_EQ(loop(nullptr, 0), test.initial) << test.name;
    for (int64_t n : lengths) {
      if (n == 0) continue;
      std::vector<double> numbers;
      for (const float number : product ? RandomFloats(n, 0.99f, 1.01f) : RandomFloats(n, -2, 3))
        numbers.push_back(static_cast<double>(number) * 1.0000001);
      GuardedRow<double> x(numbers), accumulators(numbers);
      double expected = test.initial, magnitudes = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double value = test.value(x[i], 0.5);
        expected = test.combine(expected, value);
        magnitudes += std::fabs(value);
      }
      // The bound also covers the error of the reference loop, which adds one element after the other.
      const double bound =
          Selects(test) ? 0 : static_cast<double>(n + 8) * 0x1p-53 * (product ? expected * 2 : magnitudes);
      EXPECT_LE(std::fabs(loop(x.data(), n, 0.5) - expected), bound) << test.name << " of " << n << " doubles";
      const std::vector<double> shifts(static_cast<size_t>(n), 0.5);
      loop.Accumulate(x.data(), accumulators.data(), n, shifts.data());
      for (int64_t i = 0; i < n; ++i) {
        const double sum = test.combine(x[i], test.value(x[i], 0.5));
        ASSERT_NEAR(accumulators[i], sum, 0x1p-51 * (std::fabs(x[i]) + std::fabs(sum))) << test.name << " at " << i;
      }
      numbers[static_cast<size_t>(n / 2)] = std::numeric_limits<double>::quiet_NaN();
      EXPECT_TRUE(std::isnan(loop(GuardedRow<double>(numbers).data(), n, 0.5))) << test.name;
    }
  }
}

TEST_P(Reductions, OfNothingAreNeutral) {
  for (const Case& test : kCases)
    EXPECT_EQ(ReduceLoop(test.reduction)(nullptr, 0), static_cast<float>(test.initial)) << test.name;
}

TEST_P(Reductions, ExtremesKnowNaNAndInfinitiesWhereverTheyStand) {
  const ReduceLoop largest(Reduction::kLargest), smallest(Reduction::kSmallest);
  for (int64_t n : {1, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 70}) {
    for (int64_t at = 0; at < n; ++at) {
      std::vector<float> values = RandomFloats(n, -2, 2);
      values[static_cast<size_t>(at)] = kNaN;
      EXPECT_TRUE(std::isnan(largest(GuardedRow<float>(values).data(), n))) << at << " of " << n;
      EXPECT_TRUE(std::isnan(smallest(GuardedRow<float>(values).data(), n))) << at << " of " << n;
      values[static_cast<size_t>(at)] = kInfinity;
      EXPECT_EQ(largest(GuardedRow<float>(values).data(), n), kInfinity) << at << " of " << n;
      values[static_cast<size_t>(at)] = -kInfinity;
      EXPECT_EQ(smallest(GuardedRow<float>(values).data(), n), -kInfinity) << at << " of " << n;
    }
  }
}

TEST_P(Reductions, AccumulateRowsElementByElement) {
  for (const Case& test : kCases) {
    const ReduceLoop loop(test.reduction);
    for (int64_t n : Lengths()) {
      for (bool shifted : {false, true}) {
        GuardedRow<float> x(RandomFloats(n, -2, 3)), shifts(RandomFloats(n, -1, 1, 3)),
            accumulators(RandomFloats(n, 1, 2, 2));
        const std::vector<float> before = accumulators.values();
        loop.Accumulate(x.data(), accumulators.data(), n, shifted ? shifts.data() : nullptr);
        for (int64_t i = 0; i < n; ++i) {
          const double value = test.value(x[i], shifted ? shifts[i] : 0.0f);
          const double expected = test.combine(before[static_cast<size_t>(i)], value);
          const double bound = 0x1p-24 * (test.units * 2 * std::fabs(value) + std::fabs(expected));
          ASSERT_LE(std::fabs(accumulators[i] - expected), Selects(test) ? 0 : bound)
              << test.name << ", element " << i << " of " << n;
        }
      }
    }
  }
}

TEST_P(Reductions, AccumulateManyRowsAsOneAfterTheOther) {
  constexpr int64_t kRows = 5;
  for (const Case& test : kCases) {
    const ReduceLoop loop(test.reduction);
    for (int64_t n : Lengths()) {
      const int64_t stride = n + 3;
      // The last row ends at the end of accessible memory.
      GuardedRow<float> x(RandomFloats((kRows - 1) * stride + n, -2, 3)), together(RandomFloats(n, 1, 2, 2)),
          apart(together.values());
      loop.AccumulateRows(x.data(), stride, kRows, together.data(), n);
      for (int64_t r = 0; r < kRows; ++r) loop.Accumulate(x.data() + r * stride, apart.data(), n);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_NEAR(together[i], apart[i], 4e-6 * std::fabs(apart[i])) << test.name << ", element " << i << " of " << n;
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
