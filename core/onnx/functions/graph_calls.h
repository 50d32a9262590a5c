// ReplaceGraphCalls: replaces GraphCall nodes in an operator's body (microsoft/body.h) by the graphs that the call of
// the operator passes as attributes.
#pragma once

#include <cstddef>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

// Replaces the GraphCall nodes among `nodes`, all of one graph, and in the graphs nested in them. Afterwards `*nodes`
// contains the replacing nodes instead. Returns the number of nodes that the graphs added. Throws INVALID_GRAPH when a
// graph doesn't fit its call.
size_t ReplaceGraphCalls(std::vector<Node*>* nodes);

}  // namespace epiphyte::core
