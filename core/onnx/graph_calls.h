// ReplaceGraphCalls: the graphs that the call of an operator brings, in place of the GraphCall nodes that stand for them
// in the operator's body (microsoft/body.h).
#pragma once

#include <cstddef>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

// Replaces the GraphCall nodes among `nodes`, all of one graph, and in the graphs nested in them. `*nodes` then holds
// the nodes that are there instead. Returns how many nodes the graphs brought. Throws INVALID_GRAPH where a graph
// doesn't fit its call.
size_t ReplaceGraphCalls(std::vector<Node*>* nodes);

}  // namespace epiphyte::core
