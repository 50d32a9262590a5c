#include "core/partition/strong_components.h"

#include <algorithm>
#include <limits>

namespace epiphyte::core {

// Tarjan's algorithm with an explicit stack.
StrongComponents FindStrongComponents(const AdjacencyList& edges) {
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Frame {
    uint32_t vertex;
    uint64_t next;
  };
  const auto vertices = static_cast<uint32_t>(edges.begin.size() - 1);
  StrongComponents result;
  result.of.assign(vertices, kNone);
  std::vector<uint32_t> found(vertices, kNone);
  std::vector<uint32_t> low(vertices, 0);
  std::vector<uint32_t> open;
  std::vector<Frame> path;
  uint32_t time = 0;
  const auto enter = [&](uint32_t vertex) {
    found[vertex] = low[vertex] = time++;
    open.push_back(vertex);
    path.push_back({vertex, edges.begin[vertex]});
  };
  for (uint32_t root = 0; root < vertices; ++root) {
    if (found[root] != kNone) continue;
    enter(root);
    while (!path.empty()) {
      Frame& frame = path.back();
      const uint32_t vertex = frame.vertex;
      if (frame.next < edges.begin[vertex + 1]) {
        const uint32_t target = edges.targets[frame.next++];
        if (found[target] == kNone) {
          enter(target);
        } else if (result.of[target] == kNone) {
          low[vertex] = std::min(low[vertex], found[target]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().vertex] = std::min(low[path.back().vertex], low[vertex]);
      if (low[vertex] != found[vertex]) continue;
      uint32_t member = kNone;
      while (member != vertex) {
        member = open.back();
        open.pop_back();
        result.of[member] = result.count;
      }
      ++result.count;
    }
  }
  return result;
}

}  // namespace epiphyte::core
