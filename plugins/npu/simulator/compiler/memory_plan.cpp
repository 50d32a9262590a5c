#include "plugins/npu/simulator/compiler/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace epiphyte::npusim {

std::vector<uint64_t> PlaceBlocks(const std::vector<Block>& blocks, uint64_t* size) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<uint64_t> offsets(blocks.size(), 0);
  std::vector<size_t> placed;  // by offset
  *size = 0;
  for (const size_t i : order) {
    const Block& block = blocks[i];
    const uint64_t bytes = (block.bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
    uint64_t at = 0;
    for (const size_t j : placed) {
      const Block& other = blocks[j];
      if (other.last < block.first || block.last < other.first) continue;
      if (at + bytes <= offsets[j]) break;
      at = std::max(at, (offsets[j] + other.bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment);
    }
    offsets[i] = at;
    *size = std::max(*size, at + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i, [&](size_t a, size_t b) { return offsets[a] < offsets[b]; }),
        i);
  }
  return offsets;
}

}  // namespace epiphyte::npusim
