// Check: validates graphs from files and from plugins' own rewrites. A graph is used only after it has passed.
//
//   ir::Check(graph);          // throws INVALID_GRAPH with what is wrong
//   ir::SortNodes(graph);      // puts the nodes into an order in which they can run
#pragma once

#include <vector>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// Checks the structure of a graph, not the meaning of its operators. Throws Error(EP_STATUS_INVALID_GRAPH) with one
// line, without the graph's name. These rules hold afterwards:
// - Types and dimensions are valid, and element counts do not overflow.
// - Each value is made once, before it is read.
// - Constants have the types of their values. Their bytes exist unless they were dropped; bools are 0 or 1.
// - Tensors in attributes have all their elements.
void Check(const Graph& graph);
// Checks one tensor in the same way; `whose` names the tensor in messages.
void CheckTensor(const Tensor& tensor, const std::string& whose);

// Node indices in topological order: producers before consumers, otherwise in the present order. Throws INVALID_GRAPH
// for a cycle.
std::vector<int32_t> TopologicalOrder(const Graph& graph);
// Puts the nodes into topological order.
void SortNodes(Graph& graph);

}  // namespace epiphyte::kit::ir
