// Convex grouping: from "these nodes are supported" to maximal groups that can each run as one kernel.
//
// A group is convex when no path leaves it and comes back; only then can it be replaced by one node. Units (nodes that
// must stay together) are never split.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

// Rules for FormConvexGroups besides convexity.
struct GroupingRules {
  // One flag for each unit; may be shorter. An exact unit is a group on its own.
  std::vector<char> exact;
  // Nodes share a group only if values or units connect them, which makes more groups than necessary.
  bool only_connected = false;
};

// Groups units into the fewest convex groups. `units[i]` holds nodes that belong together, usually one; no node may be
// in two units. Returns groups in topological order, each in topological order. A unit that can't be in any convex
// group is in none of them: it isn't convex, or forms a cycle with another unit and an unsupported node.
//
// Without rules, the number of groups is the least possible: the largest number of times that a path enters the
// supported set. Hence unconnected nodes may share a group, and a fully supported graph is one group. Linear in nodes
// and edges.
std::vector<std::vector<Node*>> FormConvexGroups(const Graph& graph, std::span<const std::vector<Node*>> units,
                                                 const GroupingRules& rules = {});

// `graph` is finalized. Looks only at nodes between the first and the last of `nodes`.
bool IsConvex(const Graph& graph, std::span<Node* const> nodes);

}  // namespace epiphyte::core
