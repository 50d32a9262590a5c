// Placing values in an arena: values with overlapping lifetimes must not overlap in memory, and the arena must not grow
// without need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/memory/intervals.hpp"

namespace epiphyte::test {
namespace {

using kit::MemoryInterval;
using kit::PlaceIntervals;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void ExpectNoOverlap(const std::vector<MemoryInterval>& intervals, uint64_t total, uint64_t alignment = 64) {
  for (size_t i = 0; i < intervals.size(); ++i) {
    const kit::MemoryInterval& a = intervals[i];
    EXPECT_EQ(a.offset % alignment, 0u);
    EXPECT_LE(a.offset + a.bytes, total);
    for (size_t j = 0; j < i; ++j) {
      const kit::MemoryInterval& b = intervals[j];
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
  // The fourth value takes the gap that the second leaves at the end of its lifetime.
  std::vector<MemoryInterval> intervals = {{4096, 0, 9}, {2048, 0, 3}, {4096, 2, 9}, {1024, 5, 9}};
  const uint64_t total = PlaceIntervals(intervals);
  EXPECT_EQ(total, 4096u + 2048u + 4096u);
  ExpectNoOverlap(intervals, total);
}

TEST(PlaceIntervals, RandomLifetimesNeverOverlap) {
  std::mt19937 random(7);
  // PlaceIntervals uses another method for more intervals than a limit; the second size is above it.
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

TEST(PlaceIntervals, OffsetsKeepToTheAlignmentThatADeviceAsksFor) {
  std::vector<MemoryInterval> intervals = {{100, 0, 9}, {100, 0, 9}, {100, 0, 9}};
  EXPECT_EQ(PlaceIntervals(intervals, 256), 768u);
  ExpectNoOverlap(intervals, 768, 256);
}

TEST(PlaceIntervals, SizesThatNoMemoryCouldHoldAreRefused) {
  for (const size_t count : {size_t{1}, size_t{5000}}) {  // one size for each method
    std::vector<MemoryInterval> huge(count, {UINT64_MAX - 10, 0, 1});
    EXPECT_THAT([&] { PlaceIntervals(huge); }, ThrowsMessage<kit::Error>(HasSubstr("more than 2^56 bytes")));
    std::vector<MemoryInterval> sum(count + 1, {uint64_t{1} << 56, 0, 1});
    EXPECT_THAT([&] { PlaceIntervals(sum); }, ThrowsMessage<kit::Error>(HasSubstr("more than 2^56 bytes")));
  }
}

TEST(PlaceIntervals, AnAlignmentIsAPowerOfTwo) {
  std::vector<MemoryInterval> one = {{100, 0, 9}};
  for (const uint64_t alignment : {uint64_t{0}, uint64_t{48}, UINT64_MAX})
    EXPECT_THAT([&] { PlaceIntervals(one, alignment); },
                ThrowsMessage<kit::Error>(HasSubstr("a power of two expected")));
}

}  // namespace
}  // namespace epiphyte::test
