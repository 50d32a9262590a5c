// Published cycles of systolic arrays: SCALE-Sim's golden reports (repository scalesim-project/scale-sim-v2,
// test/general), its issue 51, and STONNE. A report's "Total Cycles" is the index of the last cycle; the tests subtract
// its stalls.
#include "plugins/npu/simulator/isa/systolic.h"

#include <gtest/gtest.h>

namespace epiphyte::npusim {
namespace {

uint64_t Isolated(Dataflow dataflow, uint64_t rows, uint64_t columns, const Product3& p) {
  return IsolatedFoldCycles(FoldsOf(dataflow, rows, columns, p), rows, columns);
}

constexpr Product3 kGemm{.m = 256, .n = 128, .k = 256};  // topologies/GEMM_mnk/test_mnk_input.csv

TEST(Systolic, OutputStationaryAsInScaleSim) {
  EXPECT_EQ(Isolated(Dataflow::kOutputStationary, 32, 32, kGemm) - 1, 52'447u - 42'272u);
}

TEST(Systolic, WeightStationaryAsInScaleSim) {
  EXPECT_EQ(Isolated(Dataflow::kWeightStationary, 32, 32, kGemm) - 1, 52'447u - 41'248u);
}

TEST(Systolic, InputStationaryAsInScaleSim) {
  EXPECT_EQ(Isolated(Dataflow::kInputStationary, 32, 32, kGemm) - 1, 19'984u - 5'777u);
}

TEST(Systolic, AlexNetsFirstConvolutionAsInScaleSim) {
  constexpr Product3 kConv{.m = 55 * 55, .n = 96, .k = 11 * 11 * 3};
  EXPECT_EQ(Isolated(Dataflow::kWeightStationary, 32, 32, kConv) - 1, 112'283u);
}

TEST(Systolic, FoldsInAChainDontDrain) {
  const Folds folds = FoldsOf(Dataflow::kWeightStationary, 128, 128, {.m = 256, .n = 256, .k = 768});
  EXPECT_EQ(folds.count, 12u);
  EXPECT_EQ(ChainedFoldCycles(folds, 128), 4'608u);
}

// STONNE counts one more cycle for each fold, in which the last sum is written.
TEST(Systolic, OutputStationaryAsInStonne) {
  const Folds folds = FoldsOf(Dataflow::kOutputStationary, 4, 4, {.m = 5, .n = 2, .k = 2});
  EXPECT_EQ(IsolatedFoldCycles(folds, 4, 4) + folds.count, 18u);
}

TEST(Systolic, ANextFoldsWeightsHideBehindAStreamThatIsLongEnough) {
  EXPECT_EQ(StreamedFoldCycles(10, 100, 16, 16), 16u + 10 * 100 + 30);
  EXPECT_EQ(StreamedFoldCycles(10, 5, 16, 16), 16u + 10 * 16 + 30);
}

}  // namespace
}  // namespace epiphyte::npusim
