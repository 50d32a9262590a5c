// The cache gives the memory of destroyed values to later runs of the session. It keeps as much as concurrent runs
// used.
#include "core/graph/block_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "core/graph/memory_budget.h"
#include "core/graph/value.h"

namespace epiphyte::core {
namespace {

constexpr uint64_t kKiB = 1024;

ValuePtr Bytes(MemoryBudget& budget, int64_t count) {
  ValuePtr value = Value::Tensor(DataType::kUint8, std::vector<int64_t>{count}, &budget);
  std::memset(value->mutable_data(), 1, static_cast<size_t>(count));
  return value;
}

class CachedValues : public testing::Test {
 protected:
  CachedValues() { budget_.UseCache(cache_); }

  std::shared_ptr<BlockCache> cache_ = std::make_shared<BlockCache>();
  MemoryBudget budget_;
};

TEST_F(CachedValues, AValueHasTheMemoryOfOneThatIsGone) {
  ValuePtr value = Bytes(budget_, 100 * kKiB);
  const void* const memory = value->data();
  value = nullptr;
  value = Bytes(budget_, 100 * kKiB);
  EXPECT_EQ(value->data(), memory);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  EXPECT_NE(Bytes(budget_, 100 * kKiB)->data(), memory) << "whose memory is still in use";
}

TEST_F(CachedValues, AShapeThatGrowsALittleFindsTheSameMemory) {
  ValuePtr value = Bytes(budget_, 65 * kKiB);
  const void* const memory = value->data();
  value = nullptr;
  EXPECT_EQ(Bytes(budget_, 66 * kKiB)->data(), memory);
}

TEST_F(CachedValues, SmallOnesAreNotKept) {
  Bytes(budget_, 1000) = nullptr;
  EXPECT_EQ(cache_->kept_bytes(), 0u);
}

TEST_F(CachedValues, NoMoreIsKeptThanWasTakenAtOnce) {
  for (int64_t count = 20; count < 400; count += 20) Bytes(budget_, count * kKiB) = nullptr;
  EXPECT_GT(cache_->kept_bytes(), 380 * kKiB);
  EXPECT_LT(cache_->kept_bytes(), 440 * kKiB);
}

TEST_F(CachedValues, VeryLargeOnesGoBackToTheSystem) {
  Bytes(budget_, 100 << 20) = nullptr;
  EXPECT_EQ(cache_->kept_bytes(), 0u);
  std::vector<ValuePtr> values;
  for (int i = 0; i < 40; ++i) values.push_back(Bytes(budget_, 3 << 20));
  values.clear();
  EXPECT_GT(cache_->kept_bytes(), 32u << 20);
  EXPECT_LE(cache_->kept_bytes(), 64u << 20);
}

TEST_F(CachedValues, ManyValuesAreKeptUpToANumber) {
  std::vector<ValuePtr> values;
  for (int i = 0; i < 1000; ++i) values.push_back(Bytes(budget_, 16 * kKiB));
  values.clear();
  EXPECT_GT(cache_->kept_bytes(), 1000 * kKiB);
  EXPECT_LT(cache_->kept_bytes(), 5000 * kKiB);
}

TEST_F(CachedValues, ValuesOutliveTheirSession) {
  const ValuePtr value = Bytes(budget_, 100 * kKiB);
  const std::weak_ptr<BlockCache> cache = std::exchange(cache_, nullptr);
  EXPECT_FALSE(cache.expired());
  EXPECT_EQ(value->data_as<uint8_t>()[100 * kKiB - 1], 1);
}

TEST_F(CachedValues, WhatIsTooLargeIsRefusedAndNotCounted) {
  EXPECT_THROW(Value::Tensor(DataType::kUint8, std::vector<int64_t>{INT64_MAX}, &budget_), std::exception);
  for (int64_t count = 20; count < 200; count += 20) Bytes(budget_, count * kKiB) = nullptr;
  EXPECT_LT(cache_->kept_bytes(), 240 * kKiB);
}

TEST(BlockCache, ServesManyThreads) {
  const auto cache = std::make_shared<BlockCache>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const BlockCache::Block block = cache->Take((20 + i % 7) * kKiB);
        std::memset(block.memory, t, block.capacity);
        for (uint64_t at = 0; at < block.capacity; at += kKiB)
          ASSERT_EQ(static_cast<const uint8_t*>(block.memory)[at], t);
        cache->Give(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace epiphyte::core
