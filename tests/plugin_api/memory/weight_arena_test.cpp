// Weights of one plan are adjacent in memory, and each can be returned to the system on its own.
#include "epiphyte/kit/memory/weight_arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/memory/weight_pool.hpp"
#include "tests/framework/resident_memory.h"

namespace epiphyte::test {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

uintptr_t AddressOf(const std::shared_ptr<void>& memory) { return reinterpret_cast<uintptr_t>(memory.get()); }

TEST(WeightArena, MemoryIsAlignedAndOfItsOwnHoweverLarge) {
  kit::WeightArena arena;
  std::vector<std::pair<std::shared_ptr<void>, uint64_t>> weights;
  for (int round = 0; round < 3; ++round)
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{100}, 3 * kMiB, 5 * kMiB + 1, 15 * kMiB, 20 * kMiB})
      weights.emplace_back(arena.Allocate(bytes), bytes);
  arena = {};
  for (size_t i = 0; i < weights.size(); ++i)
    std::memset(weights[i].first.get(), static_cast<int>(i), weights[i].second);
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto& [memory, bytes] = weights[i];
    EXPECT_EQ(AddressOf(memory) % kit::kHeapAlignment, 0u);
    if (bytes == 0) continue;
    EXPECT_EQ(static_cast<const uint8_t*>(memory.get())[0], i);
    EXPECT_EQ(static_cast<const uint8_t*>(memory.get())[bytes - 1], i);
  }
}

#if defined(__linux__)
TEST(WeightArena, WhatIsNotLargeLiesSideBySide) {
  kit::WeightArena arena;
  const auto first = arena.Allocate(3 * kMiB), small = arena.Allocate(100), last = arena.Allocate(kMiB);
  EXPECT_EQ(AddressOf(small), AddressOf(first) + 3 * kMiB);
  EXPECT_EQ(AddressOf(last), AddressOf(small) + 128);
  EXPECT_EQ(AddressOf(first) % (2 * kMiB), 0u) << "a large page";
}

TEST(WeightArena, ReleasesUnreferencedBlocks) {
  kit::WeightArena arena;
  std::vector<std::shared_ptr<void>> weights;
  for (int i = 0; i < 16; ++i) {
    weights.push_back(arena.Allocate(3 * kMiB));
    std::memset(weights.back().get(), i, 3 * kMiB);
  }
  const uint64_t before = ResidentBytes();
  for (size_t i = 0; i < 16; i += 2) weights[i] = nullptr;
  EXPECT_GE(before, ResidentBytes() + 8 * 3 * kMiB - kMiB);
  for (size_t i = 1; i < 16; i += 2) {
    EXPECT_EQ(static_cast<const uint8_t*>(weights[i].get())[0], i);
    EXPECT_EQ(static_cast<const uint8_t*>(weights[i].get())[3 * kMiB - 1], i);
  }
}
#endif

TEST(WeightArena, APoolFindsOnlyWhatIsStillThere) {
  kit::WeightPool pool;
  kit::WeightArena arena;
  auto first = arena.Allocate(3 * kMiB), other = arena.Allocate(3 * kMiB);
  std::memset(first.get(), 1, 3 * kMiB);
  std::memset(other.get(), 1, 3 * kMiB);
  first = pool.Share(std::move(first), 3 * kMiB);
  EXPECT_EQ(pool.Share(other, 3 * kMiB), first);
  first = nullptr;
  EXPECT_EQ(pool.Share(other, 3 * kMiB), other);
}

}  // namespace
}  // namespace epiphyte::test
