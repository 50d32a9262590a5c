// Import: the host's graph as IR.
//
//   ir::Graph graph = ir::Import(host, partition.graph.handle(), partition.name);
//   for (ir::Constant& constant : graph.constants) {
//     if (IsRead(constant)) ir::Retain(host, task.handle(), constant);   // keeps the host's bytes without a copy
//   }
//
// Numbers, pointers and types are checked as they are read; what makes no sense is INVALID_GRAPH.
#pragma once

#include <string>
#include <vector>

#include "epiphyte/ep_host.h"
#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// A value of an element type that a later host knows keeps its number, and constants of such a type have no bytes: no
// kernel is for them, and Check refuses them.
// Attributes are copied, constants stay borrowed. Nodes and constants have their handles. Nodes with subgraphs are
// imported without them: look at them through their handles.
Graph Import(const EpHostInfo& host, const EpGraph* graph, std::string name);
// One value, as Import describes it.
Value ImportValue(const EpValueDefInfo& info);

// Makes a borrowed constant of the host's an owned one by a reference to the host's bytes, not by a copy (see
// EpTaskApi::RetainConstant). The reference ends with the last copy of `owner`, and before the provider.
void Retain(const EpHostInfo& host, EpTask* task, Constant& constant);

// Tells the host that nobody reads a borrowed constant any more (see EpTaskApi::DropConstant), which has no bytes from
// then on: neither here nor in any copy of it. Does nothing to others, and with a host that has no such call.
void Drop(const EpHostInfo& host, EpTask* task, Constant& constant);
// By constant of the graph: it is borrowed from the host and worth dropping, and no other constant has its bytes too,
// as a rewrite's with another shape may.
std::vector<bool> Droppable(const Graph& graph);

}  // namespace epiphyte::kit::ir
