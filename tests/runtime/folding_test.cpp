// Constant folding has its own limits: a file of a few bytes must not cost gigabytes or minutes before the application
// starts a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/runtime/folding_budget.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/resident_memory.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::FoldingBudget;
using core::FoldingLimits;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr FoldingLimits kSmall = {
    .result_bytes = 1000, .growth = 8, .grown_bytes = 100, .total_bytes = 5000, .time = milliseconds(60'000)};

// Works until it is told to stop. Returns false if that takes more than 60 seconds.
bool WorkUntilStopped(const FoldingBudget::Computation& computation) {
  const auto end = steady_clock::now() + std::chrono::seconds(60);
  while (!computation.stop().stop_requested() && steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return computation.stop().stop_requested();
}

TEST(FoldingBudget, AResultMayBeMuchLargerThanItsInputsOnlyWhenItIsSmall) {
  const FoldingBudget budget(kSmall);
  EXPECT_EQ(budget.MostResultBytes(0), 100u);
  EXPECT_EQ(budget.MostResultBytes(50), 400u);
  EXPECT_EQ(budget.MostResultBytes(500), 1000u);
  EXPECT_EQ(budget.MostResultBytes(UINT64_MAX), 1000u);
}

TEST(FoldingBudget, AllResultsTogetherHaveALimit) {
  FoldingBudget budget(kSmall);
  for (int i = 0; i < 4; ++i) budget.CountResult(1000);
  budget.CountResult(700);
  EXPECT_EQ(budget.MostResultBytes(1000), 300u);
  EXPECT_FALSE(budget.is_spent());
  budget.CountResult(300);
  EXPECT_TRUE(budget.is_spent());
  EXPECT_EQ(budget.MostResultBytes(1000), 0u);
}

TEST(FoldingBudget, AllComputationsTogetherHaveATimeLimit) {
  FoldingLimits limits = kSmall;
  limits.time = milliseconds(50);
  FoldingBudget budget(limits);
  {
    const FoldingBudget::Computation computation(budget);
    EXPECT_TRUE(WorkUntilStopped(computation));
  }
  EXPECT_TRUE(budget.is_spent());
}

TEST(FoldingBudget, LongComputationReportsProgressAndCanBeCancelled) {
  std::atomic<int> reports = 0;
  FoldingBudget budget(kSmall, [&] { return ++reports == 3; });
  const auto begin = steady_clock::now();
  {
    const FoldingBudget::Computation computation(budget);
    EXPECT_TRUE(WorkUntilStopped(computation));
  }
  EXPECT_EQ(reports, 3);
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_FALSE(budget.is_spent());
}

TEST(FoldingBudget, ShortComputationsAreNotStopped) {
  FoldingBudget budget(kSmall, [] { return true; });
  for (int i = 0; i < 1000; ++i) {
    const FoldingBudget::Computation computation(budget);
    EXPECT_FALSE(computation.stop().stop_requested());
  }
}

class FoldingTest : public testing::Test {
 protected:
  std::unique_ptr<core::Session> Make(std::string_view graph, core::SessionOptions options = OptionsFor({"cpu"})) {
    const std::string bytes = OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]> " + std::string(graph));
    return std::make_unique<core::Session>(*environment_, bytes.data(), bytes.size(), options);
  }
  // Returns the peak of memory while a session is made, in bytes.
  uint64_t PeakOf(std::string_view graph) {
    Make("g () => (float[1] y) { y = Constant<value = float[1] {1}>() }");  // loads what every session needs
    if (!ForgetPeak()) return 0;
    const uint64_t before = ResidentBytes();
    const auto session = Make(graph);
    return PeakResidentBytes() - before;
  }

  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST_F(FoldingTest, AConstantOfShapeOf160MiBIsLeftToTheRun) {
  EXPECT_LT(PeakOf(R"(g () => (float[] y) {
        s = Constant<value = int64[1] {41943040}>()
        x = ConstantOfShape(s)
        y = ReduceSum<keepdims = 0>(x) })"),
            100 * kMiB);
}

// The model declares a wrong, small shape, which the plan of the folded node uses.
TEST_F(FoldingTest, AWindowThatIsDeclaredSmallerThanItIsIsLeftToTheRun) {
  EXPECT_LT(PeakOf(R"(g () => (double[] y) <double[1] w> {
        s = Constant<value = int64[1] {134217728}>()
        n = ReduceProd<keepdims = 0>(s)
        w = HannWindow<output_datatype = 11>(n)
        y = ReduceSum<keepdims = 0>(w) })"),
            200 * kMiB);
}

TEST_F(FoldingTest, AnExpandThatIsDeclaredSmallerThanItIsIsLeftToTheRun) {
  EXPECT_LT(PeakOf(R"(g () => (float[] y) <float[1] w> {
        s = Constant<value = int64[2] {16384, 8192}>()
        n = ReduceProd<axes = [0]>(s)
        one = Constant<value = float[1] {1}>()
        w = Expand(one, n)
        y = ReduceSum<keepdims = 0>(w) })"),
            200 * kMiB);
}

TEST_F(FoldingTest, ManyResultsTogetherHaveALimit) {
  std::string graph =
      "g () => (float[] y) { s = Constant<value = int64[1] {7340032}>() "
      "x0 = ConstantOfShape(s) ";
  for (int i = 1; i <= 60; ++i)
    graph += "x" + std::to_string(i) + " = Neg(x" + std::to_string(i - 1) + ") y" + std::to_string(i) +
             " = ReduceSum<keepdims = 0>(x" + std::to_string(i) + ") ";
  graph += "y = Sum(y1, y60) }";
  EXPECT_LT(PeakOf(graph), 900 * kMiB);
}

TEST_F(FoldingTest, WhatIsNotFoldedIsComputedInTheRun) {
  const auto session = Make(R"(g () => (float[] y) {
        s = Constant<value = int64[1] {41943040}>()
        x = ConstantOfShape<value = float[1] {0.5}>(s)
        y = ReduceMax<keepdims = 0>(x) })");
  EXPECT_EQ(FloatsOf(*session->Run({})[0]), std::vector<float>{0.5f});
}

}  // namespace
}  // namespace epiphyte::test
