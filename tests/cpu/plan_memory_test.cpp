// Placing values in an arena: what lives at the same time must not overlap, and the arena must not grow without need.
#include <gtest/gtest.h>

#include <random>

#include "plugins/cpu/exec/memory_plan.h"

namespace epiphyte::test {
namespace {

using cpu::MemoryInterval;
using cpu::PlaceIntervals;

void ExpectNoOverlap(const std::vector<MemoryInterval>& intervals, uint64_t total) {
  for (size_t i = 0; i < intervals.size(); ++i) {
    const MemoryInterval& a = intervals[i];
    EXPECT_EQ(a.offset % 64, 0u);
    EXPECT_LE(a.offset + a.bytes, total);
    for (size_t j = 0; j < i; ++j) {
      const MemoryInterval& b = intervals[j];
      const bool together = a.first <= b.last && b.first <= a.last;
      const bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      ASSERT_FALSE(together && overlap) << i << " and " << j;
    }
  }
}

TEST(PlaceIntervals, NothingNeedsNoMemory) {
  std::vector<MemoryInterval> none;
  EXPECT_EQ(PlaceIntervals(none), 0u);
}

TEST(PlaceIntervals, AChainNeedsTwoBuffers) {
  std::vector<MemoryInterval> chain;
  for (int32_t i = 0; i < 100; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_EQ(PlaceIntervals(chain), 2048u);
  ExpectNoOverlap(chain, 2048);
}

TEST(PlaceIntervals, ASmallValueGoesIntoAGapBetweenLargerOnes) {
  // The gap that the second leaves when it dies takes the fourth.
  std::vector<MemoryInterval> intervals = {{4096, 0, 9}, {2048, 0, 3}, {4096, 2, 9}, {1024, 5, 9}};
  const uint64_t total = PlaceIntervals(intervals);
  EXPECT_EQ(total, 4096u + 2048u + 4096u);
  ExpectNoOverlap(intervals, total);
}

TEST(PlaceIntervals, RandomLifetimesNeverOverlap) {
  std::mt19937 random(7);
  // The second size is above the limit beyond which another method is used.
  for (const int count : {500, 6000}) {
    std::vector<MemoryInterval> intervals;
    for (int i = 0; i < count; ++i) {
      const auto first = static_cast<int32_t>(random() % 1000);
      intervals.push_back({random() % 10000, first, first + static_cast<int32_t>(random() % 20)});
    }
    const uint64_t total = PlaceIntervals(intervals);
    ExpectNoOverlap(intervals, total);
  }
}

}  // namespace
}  // namespace epiphyte::test
