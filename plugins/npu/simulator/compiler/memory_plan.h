// Places blocks so that blocks with overlapping lifetimes don't overlap in memory. Each block gets the first place that
// fits, the largest block first.
//
//   std::vector<uint64_t> offsets = PlaceBlocks(blocks, &size);
#pragma once

#include <cstdint>
#include <vector>

namespace epiphyte::npusim {

struct Block {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0;  // layers that use the block, both inclusive
};

inline constexpr uint64_t kBlockAlignment = 64;

std::vector<uint64_t> PlaceBlocks(const std::vector<Block>& blocks, uint64_t* size);

}  // namespace epiphyte::npusim
