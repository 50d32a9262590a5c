// Import: converts the host's graph to IR.
//
//   ir::Graph graph = ir::Import(host, partition.graph.handle(), partition.name);
//   for (ir::Constant& constant : graph.constants) {
//     if (IsRead(constant)) ir::Retain(host, task.handle(), constant);   // keeps the host's bytes, without a copy
//   }
//
// Indices, pointers and types are checked as they are read. Invalid ones give INVALID_GRAPH.
#pragma once

#include <string>
#include <vector>

#include "epiphyte/ep_host.h"
#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// Imports a graph. Attributes are copied; constants are borrowed. Nodes and constants keep their handles. Nodes with
// subgraphs are imported without the subgraphs: look at those through the handles.
//
// A later host may know element types that this kit does not know. A value of such a type keeps the number of its type,
// and such a constant has no bytes. No kernel supports it, and Check refuses it.
Graph Import(const EpHostInfo& host, const EpGraph* graph, std::string name);
// Describes one value as Import does.
Value ImportValue(const EpValueDefInfo& info);

// Keeps a borrowed constant of the host by a reference to the host's bytes, without a copy (see
// EpTaskApi::RetainConstant). The reference ends with the last copy of `owner`, and must end before the provider does.
void Retain(const EpHostInfo& host, EpTask* task, Constant& constant);

// Tells the host that the plugin reads a borrowed constant no more (see EpTaskApi::DropConstant). The constant then has
// no bytes, neither here nor in copies of it. Does nothing to other constants, and nothing on a host without this call.
void Drop(const EpHostInfo& host, EpTask* task, Constant& constant);
// Says for each constant of the graph whether Drop is possible and worth a call. The constant is borrowed from the
// host, has at least 64 KiB, and shares its bytes with no other constant. A rewrite can make a second constant with the
// same bytes and another shape.
std::vector<bool> Droppable(const Graph& graph);

}  // namespace epiphyte::kit::ir
