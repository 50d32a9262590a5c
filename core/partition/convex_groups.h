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

// `units[i]`: nodes that belong together, usually one; no node may be in two units. Returns groups in topological
// order, each in topological order. A unit that can't become part of any convex group (it isn't convex, or forms a
// cycle with another unit and an unsupported node) is in none of them.
//
// Without rules, the number of groups is the least possible: the largest number of times that a path enters the
// supported set. Hence nodes that aren't connected may share a group, and a graph that is supported as a whole is one
// group. Linear in nodes and edges.
struct GroupingRules {
  // By unit; may be shorter. An exact unit is a group of its own, and nothing else is in it.
  std::vector<char> exact;
  // Nodes share a group only where values or units connect them, which makes more groups than need be.
  bool only_connected = false;
};

std::vector<std::vector<Node*>> FormConvexGroups(const Graph& graph, std::span<const std::vector<Node*>> units,
                                                 const GroupingRules& rules = {});

// `graph` is finalized. Looks only at nodes between the first and the last of `nodes`.
bool IsConvex(const Graph& graph, std::span<Node* const> nodes);

}  // namespace epiphyte::core
