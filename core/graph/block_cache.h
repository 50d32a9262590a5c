// BlockCache: memory of the values that the runs of a session made, kept for its next runs. A run that leaves many
// tensors (a decoder's keys and values) would otherwise have the system's pages, zeroed, anew every time: allocators
// give back what is freed at their end.
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
  // Smaller ones are the allocator's business, which is fast at them.
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
  // One that Take gave. It is kept, unless more than all that were ever taken at once, or than kMost, would be.
  void Give(Block block) noexcept;

  uint64_t kept_bytes() const;

 private:
  static constexpr uint64_t kMost = uint64_t{64} << 20;
  static constexpr size_t kMostBlocks = 128;

  // The mutex is held.
  void Count(uint64_t capacity);
  Block Remove(size_t index) noexcept;

  mutable std::mutex mutex_;
  std::array<Block, kMostBlocks> kept_;  // the oldest first
  size_t count_ = 0;
  uint64_t kept_bytes_ = 0;
  uint64_t taken_ = 0, most_taken_ = 0;
};

}  // namespace epiphyte::core
