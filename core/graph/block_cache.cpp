#include "core/graph/block_cache.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

namespace epiphyte::core {

namespace {

// Rounds up, so that shapes that grow a little from run to run can reuse the memory of the previous run.
uint64_t CapacityFor(uint64_t bytes) {
  const uint64_t step = std::bit_floor(bytes) / 8;
  if (step == 0 || bytes > std::numeric_limits<uint64_t>::max() - step) return bytes;
  return (bytes + step - 1) / step * step;
}

}  // namespace

BlockCache::~BlockCache() {
  for (size_t i = 0; i < count_; ++i) std::free(kept_[i].memory);
}

BlockCache::Block BlockCache::Take(uint64_t bytes) {
  Block block{nullptr, CapacityFor(bytes)};
  {
    const std::lock_guard lock(mutex_);
    // The block that was returned last is most likely in the CPU's caches.
    for (size_t i = count_; i-- > 0 && block.memory == nullptr;)
      if (kept_[i].capacity == block.capacity) block = Remove(i);
    if (block.memory != nullptr) {
      Count(block.capacity);
      return block;
    }
  }
  if (block.capacity > std::numeric_limits<size_t>::max()) return block;
  block.memory = std::malloc(static_cast<size_t>(block.capacity));
  if (block.memory == nullptr) return block;
  const std::lock_guard lock(mutex_);
  Count(block.capacity);
  return block;
}

void BlockCache::Give(Block block) noexcept {
  const std::lock_guard lock(mutex_);
  taken_ -= block.capacity;
  const uint64_t most = std::min(most_taken_, kMost);
  while (count_ > 0 && (count_ == kMostBlocks || kept_bytes_ + block.capacity > most)) std::free(Remove(0).memory);
  if (block.capacity > most) return std::free(block.memory);
  kept_[count_++] = block;
  kept_bytes_ += block.capacity;
}

uint64_t BlockCache::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

void BlockCache::Count(uint64_t capacity) {
  taken_ += capacity;
  most_taken_ = std::max(most_taken_, taken_);
}

BlockCache::Block BlockCache::Remove(size_t index) noexcept {
  const Block block = kept_[index];
  std::copy(kept_.begin() + index + 1, kept_.begin() + count_, kept_.begin() + index);
  --count_;
  kept_bytes_ -= block.capacity;
  return block;
}

}  // namespace epiphyte::core
