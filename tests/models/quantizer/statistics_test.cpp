#include "tests/models/quantizer/statistics.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace epiphyte::test {
namespace {

std::vector<float> Counting(int count, float step) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(step * static_cast<float>(i));
  return values;
}

TEST(ActivationStatistics, KnowsTheEnds) {
  ActivationStatistics statistics(false);
  statistics.Add(std::vector<float>{1, 3});
  statistics.Add(std::vector<float>{-2, 2});
  EXPECT_EQ(statistics.MinMax().low, -2);
  EXPECT_EQ(statistics.MinMax().high, 3);
}

TEST(ActivationStatistics, LeavesOutWhatStandsForInfinity) {
  ActivationStatistics statistics(true);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  statistics.Add(std::vector<float>{-3.4e38f, -kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN(), 1, 2});
  EXPECT_EQ(statistics.MinMax().low, 1);
  EXPECT_EQ(statistics.MinMax().high, 2);
  EXPECT_EQ(statistics.Percentile(100).low, 1);
}

TEST(ActivationStatistics, IsNothingWithoutNumbers) {
  EXPECT_EQ(ActivationStatistics(true).MinMax().high, 0);
  EXPECT_EQ(ActivationStatistics(true).Percentile(99).high, 0);
}

TEST(ActivationStatistics, LeavesOutTheTailsOfBothSigns) {
  std::vector<float> values = Counting(1000, 0.01f);  // numbers up to 10
  for (float& value : values) value -= 5;
  values.push_back(1000);
  values.push_back(-1000);
  ActivationStatistics statistics(true);
  statistics.Add(values);
  const Range range = statistics.Percentile(99);
  EXPECT_NEAR(range.low, -5, 0.1);
  EXPECT_NEAR(range.high, 5, 0.1);
  EXPECT_EQ(statistics.Percentile(100).high, 1000);
}

TEST(ActivationStatistics, StaysWithinTheEnds) {
  ActivationStatistics statistics(true);
  statistics.Add(std::vector<float>{-1.001f, 0.5f, 1.001f});
  EXPECT_EQ(statistics.Percentile(99.99).low, double{-1.001f});
  EXPECT_EQ(statistics.Percentile(99.99).high, double{1.001f});
}

TEST(ActivationStatistics, DoesNotDependOnTheOrder) {
  const std::vector<float> values = Counting(5000, 0.37f);
  ActivationStatistics forwards(true), backwards(true);
  for (const float value : values) forwards.Add({&value, 1});
  backwards.Add(std::vector<float>(values.rbegin(), values.rend()));
  EXPECT_EQ(forwards.Percentile(99).low, backwards.Percentile(99).low);
  EXPECT_EQ(forwards.Percentile(99).high, backwards.Percentile(99).high);
}

}  // namespace
}  // namespace epiphyte::test
