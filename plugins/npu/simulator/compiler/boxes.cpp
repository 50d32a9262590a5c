#include "plugins/npu/simulator/compiler/boxes.h"

#include <algorithm>
#include <cstdlib>

namespace epiphyte::npusim {

void Box::Merge() {
  std::vector<size_t> order;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] != 1) order.push_back(i);
  }
  if (!strides.empty()) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return std::abs(strides[0][a]) > std::abs(strides[0][b]); });
  }
  Box merged;
  merged.strides.resize(strides.size());
  for (size_t at = order.size(); at-- > 0;) {  // from the inside; reversed below
    const size_t i = order[at];
    bool joins = !merged.extents.empty();
    for (size_t t = 0; joins && t < strides.size(); ++t) {
      joins = strides[t][i] == merged.strides[t].back() * merged.extents.back();
    }
    if (joins) {
      merged.extents.back() *= extents[i];
      continue;
    }
    merged.extents.push_back(extents[i]);
    for (size_t t = 0; t < strides.size(); ++t) merged.strides[t].push_back(strides[t][i]);
  }
  if (merged.extents.empty()) {
    merged.extents = {1};
    for (auto& of : merged.strides) of = {1};
  }
  std::reverse(merged.extents.begin(), merged.extents.end());
  for (auto& of : merged.strides) std::reverse(of.begin(), of.end());
  *this = std::move(merged);
}

std::vector<int64_t> TileOf(const std::vector<int64_t>& extents, int64_t most, size_t loops) {
  std::vector<int64_t> tile(extents.size(), 1);
  int64_t elements = 1;
  size_t used = 0;
  for (size_t i = extents.size(); i-- > 0 && used < loops;) {
    const int64_t part = std::clamp<int64_t>(most / elements, 1, extents[i]);
    // Parts have about the same size.
    const int64_t parts = (extents[i] + part - 1) / part;
    tile[i] = (extents[i] + parts - 1) / parts;
    elements *= tile[i];
    if (extents[i] > 1) ++used;
    if (tile[i] != extents[i]) break;
  }
  return tile;
}

void ForEachTile(
    const std::vector<int64_t>& extents, const std::vector<int64_t>& tile,
    const std::function<void(const std::vector<int64_t>& begin, const std::vector<int64_t>& size)>& visit) {
  std::vector<int64_t> begin(extents.size(), 0), size(extents.size());
  for (;;) {
    for (size_t i = 0; i < extents.size(); ++i) size[i] = std::min(tile[i], extents[i] - begin[i]);
    visit(begin, size);
    size_t i = extents.size();
    while (i-- > 0) {
      begin[i] += tile[i];
      if (begin[i] < extents[i]) break;
      begin[i] = 0;
      if (i == 0) return;
    }
    if (extents.empty()) return;
  }
}

}  // namespace epiphyte::npusim
