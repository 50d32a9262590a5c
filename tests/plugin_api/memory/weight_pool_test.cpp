// Equal weights are there once, as long as somebody has them; and memory from the heap is aligned.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/memory/weight_pool.hpp"

namespace epiphyte::test {
namespace {

std::shared_ptr<void> Filled(uint64_t bytes, int byte) {
  std::shared_ptr<void> memory = kit::AllocateShared(bytes);
  std::memset(memory.get(), byte, bytes);
  return memory;
}

TEST(WeightPool, EqualBytesAreOneMemory) {
  kit::WeightPool pool;
  const auto first = pool.Share(Filled(8192, 1), 8192);
  EXPECT_EQ(pool.Share(Filled(8192, 1), 8192), first);
  EXPECT_NE(pool.Share(Filled(8192, 2), 8192), first);
  EXPECT_NE(pool.Share(Filled(8256, 1), 8256), first);
  EXPECT_EQ(pool.Share(first, 8192), first);
}

TEST(WeightPool, OwnsNothing) {
  kit::WeightPool pool;
  auto first = pool.Share(Filled(8192, 1), 8192);
  const std::weak_ptr<void> gone = first;
  first.reset();
  EXPECT_TRUE(gone.expired());
  const auto second = Filled(8192, 1);
  EXPECT_EQ(pool.Share(second, 8192), second);
}

TEST(WeightPool, SmallOnesAreNotLookedFor) {
  kit::WeightPool pool;
  const auto first = pool.Share(Filled(64, 1), 64);
  EXPECT_NE(pool.Share(Filled(64, 1), 64), first);
}

TEST(WeightPool, ServesManyThreads) {
  kit::WeightPool pool;
  std::vector<std::shared_ptr<void>> shared(8);
  std::vector<std::thread> threads;
  for (auto& memory : shared) threads.emplace_back([&] { memory = pool.Share(Filled(1 << 20, 7), 1 << 20); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& memory : shared) EXPECT_EQ(memory, shared[0]);
}

TEST(Heap, MemoryIsAlignedHoweverLarge) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{100}, uint64_t{5} << 20}) {
    const auto shared = kit::AllocateShared(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(shared.get()) % kit::kHeapAlignment, 0u);
    void* const memory = kit::AllocateHeap(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kit::kHeapAlignment, 0u);
    std::memset(memory, 1, bytes);
    kit::FreeHeap(memory);
  }
}

}  // namespace
}  // namespace epiphyte::test
