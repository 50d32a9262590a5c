// Blocks that are alive at the same time lie apart. Memory of others is reused.
#include "plugins/npu/simulator/compiler/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace epiphyte::npusim {
namespace {

TEST(MemoryPlan, WhatLivesOneAfterTheOtherSharesMemory) {
  uint64_t size = 0;
  const std::vector<uint64_t> offsets = PlaceBlocks({{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 9}}, &size);
  EXPECT_EQ(offsets, (std::vector<uint64_t>{0, 0, 0}));
  EXPECT_EQ(size, 1024u);
}

TEST(MemoryPlan, AChainNeedsItsTwoLargestNeighbours) {
  uint64_t size = 0;
  PlaceBlocks({{640, 0, 1}, {1280, 1, 2}, {320, 2, 3}, {1280, 3, 4}, {640, 4, 5}}, &size);
  EXPECT_EQ(size, 1280u + 640u);
}

TEST(MemoryPlan, RandomLivesNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<Block> blocks;
    for (int i = 0; i < 40; ++i) {
      const uint32_t first = random() % 50;
      blocks.push_back({1 + random() % 5000, first, first + static_cast<uint32_t>(random() % 8)});
    }
    uint64_t size = 0, together = 0;
    const std::vector<uint64_t> offsets = PlaceBlocks(blocks, &size);
    for (size_t i = 0; i < blocks.size(); ++i) {
      together += blocks[i].bytes;
      EXPECT_EQ(offsets[i] % kBlockAlignment, 0u);
      EXPECT_LE(offsets[i] + blocks[i].bytes, size);
      for (size_t j = 0; j < i; ++j) {
        const bool at_one_time = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
        const bool apart = offsets[i] + blocks[i].bytes <= offsets[j] || offsets[j] + blocks[j].bytes <= offsets[i];
        ASSERT_TRUE(!at_one_time || apart) << i << " and " << j;
      }
    }
    EXPECT_LT(size, together / 2);
  }
}

}  // namespace
}  // namespace epiphyte::npusim
