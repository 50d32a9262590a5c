// BlockCache: keeps memory of values that a session's runs made, for reuse by its next runs. Without it, a run that
// leaves many tensors (a decoder's keys and values) would get zeroed pages from the system every time, because
// allocators return freed memory at the end of their heap.
//
//   const auto cache = std::make_shared<BlockCache>();             // of a session
//   BlockCache::Block block = cache->Take(bytes);                  // its memory is null where there is none
//   cache->Give(block);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace epiphyte::core {

// [any thread]
class BlockCache {
 public:
  // Smallest cached block in bytes. The allocator handles smaller ones fast.
  static constexpr uint64_t kWorthIt = uint64_t{16} << 10;

  struct Block {
    void* memory = nullptr;  // from malloc
    uint64_t capacity = 0;   // bytes
  };

  BlockCache() = default;
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache();

  Block Take(uint64_t bytes);
  // Returns a block that Take gave. The cache keeps it, unless the cache would then hold more than was ever taken at
  // once, or more than kMost.
  void Give(Block block) noexcept;

  uint64_t kept_bytes() const;

 private:
  static constexpr uint64_t kMost = uint64_t{64} << 20;
  static constexpr size_t kMostBlocks = 128;

  // The caller holds the mutex.
  void Count(uint64_t capacity);
  Block Remove(size_t index) noexcept;

  mutable std::mutex mutex_;
  std::array<Block, kMostBlocks> kept_;  // oldest first
  size_t count_ = 0;
  uint64_t kept_bytes_ = 0;
  uint64_t taken_ = 0, most_taken_ = 0;
};

}  // namespace epiphyte::core
