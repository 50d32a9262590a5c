// Strongly connected components of a directed graph. It doesn't recurse, because graphs may be as deep as they have
// nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace epiphyte::core {

// Edges of vertex v: targets[begin[v]] to targets[begin[v + 1] - 1].
struct AdjacencyList {
  std::vector<uint64_t> begin;  // number of vertices + 1 entries
  std::vector<uint32_t> targets;

  std::span<const uint32_t> of(uint32_t vertex) const {
    return std::span(targets).subspan(begin[vertex], begin[vertex + 1] - begin[vertex]);
  }
};

struct StrongComponents {
  std::vector<uint32_t> of;  // component of each vertex, numbered in reverse topological order
  uint32_t count = 0;
};

StrongComponents FindStrongComponents(const AdjacencyList& edges);

}  // namespace epiphyte::core
