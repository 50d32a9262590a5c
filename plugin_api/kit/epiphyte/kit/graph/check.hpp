// Whether a graph is one: the only way in for graphs from files and from plugins' own rewrites.
//
//   ir::Check(graph);          // throws INVALID_GRAPH with what is wrong
//   ir::SortNodes(graph);      // an order in which the nodes can run
#pragma once

#include <vector>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// Types and dimensions make sense and can be counted, each value is made once and before it is read, constants are of
// their values' types and their bytes are there (bools are 0 or 1) unless dropped, attributes' tensors have their
// elements. What operators mean is not looked at. Throws Error(EP_STATUS_INVALID_GRAPH); one line, without the graph's
// name.
void Check(const Graph& graph);
// The part that Check has for one tensor; `whose` names it in messages.
void CheckTensor(const Tensor& tensor, const std::string& whose);

// Numbers of nodes, makers before readers, otherwise in the order in which they stand. Throws INVALID_GRAPH for a
// circle.
std::vector<int32_t> TopologicalOrder(const Graph& graph);
// Puts the nodes into that order.
void SortNodes(Graph& graph);

}  // namespace epiphyte::kit::ir
