// Equal weights are stored once as long as they are referenced. Memory from the heap is aligned.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/memory/weight_pool.hpp"
#include "tests/framework/resident_memory.h"

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

TEST(WeightPool, SmallConstantsAreNotShared) {
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
    for (const auto& shared : {kit::AllocateShared(bytes), kit::AllocateWeights(bytes)}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(shared.get()) % kit::kHeapAlignment, 0u);
      std::memset(shared.get(), 1, bytes);
    }
    void* const memory = kit::AllocateHeap(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kit::kHeapAlignment, 0u);
    std::memset(memory, 1, bytes);
    kit::FreeHeap(memory);
  }
}

#if defined(__linux__)
TEST(Heap, GivesWeightsBackToTheSystemAtOnceWhateverLiesBetweenThem) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  void* volatile block = std::malloc(30 * kMiB);
  std::free(block);  // afterwards glibc keeps blocks of this size
  for (const uint64_t bytes : {kMiB, 8 * kMiB}) {
    std::vector<std::shared_ptr<void>> weights, between;
    for (int i = 0; i < 16; ++i) {
      weights.push_back(kit::AllocateWeights(bytes));
      std::memset(weights.back().get(), 1, bytes);
      between.push_back(kit::AllocateShared(100));
    }
    const uint64_t before = ResidentBytes();
    weights.clear();
    EXPECT_GE(before, ResidentBytes() + 15 * bytes) << bytes;
  }
}
#endif

}  // namespace
}  // namespace epiphyte::test
