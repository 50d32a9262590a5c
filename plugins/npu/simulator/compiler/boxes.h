// Boxes of many dimensions. Dimensions that are contiguous in all tensors are merged into one, and a box that is too
// large is split from the outside.
//
//   Box box{{2, 3, 4}, {{12, 4, 1}, {12, 4, 1}}};    // extents; strides of each tensor
//   box.Merge();                                     // {24}, {{1}, {1}}
//   ForEachTile(box.extents, TileOf(box.extents, 10), [](begin, size) { ... });
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace epiphyte::npusim {

struct Box {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;  // by tensor, one stride per extent

  // Orders the extents by the first tensor's strides, the largest first. Drops extents of 1 and merges as many extents
  // as possible.
  void Merge();
};

// A tile of at most `most` elements (at least one), with at most `loops` extents over 1. It takes whole inner extents
// first.
std::vector<int64_t> TileOf(const std::vector<int64_t>& extents, int64_t most, size_t loops);

void ForEachTile(const std::vector<int64_t>& extents, const std::vector<int64_t>& tile,
                 const std::function<void(const std::vector<int64_t>& begin, const std::vector<int64_t>& size)>& visit);

inline int64_t ElementsOf(const std::vector<int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

inline int64_t OffsetOf(const std::vector<int64_t>& begin, const std::vector<int64_t>& strides) {
  return std::inner_product(begin.begin(), begin.end(), strides.begin(), int64_t{0});
}

}  // namespace epiphyte::npusim
