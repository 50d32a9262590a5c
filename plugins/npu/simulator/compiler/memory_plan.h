// Places blocks that live for some time so that those that live at one time don't overlap, in as little memory as a
// first fit by size finds.
//
//   std::vector<uint64_t> offsets = PlaceBlocks(blocks, &size);
#pragma once

#include <cstdint>
#include <vector>

namespace epiphyte::npusim {

struct Block {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0;  // layers, both inclusive
};

inline constexpr uint64_t kBlockAlignment = 64;

std::vector<uint64_t> PlaceBlocks(const std::vector<Block>& blocks, uint64_t* size);

}  // namespace epiphyte::npusim
