// VerifyPlan: the only way from a graph to kernels. A plan from a file may say anything, so everything that Plan, Frame
// and the kernels rely on is checked here, before any kernel is made; a plan that was made just now goes the same way.
//
// What holds afterwards:
// - the graph is one (ir::Check)
// - each node's operator and version is known, and its inputs and outputs fit the signature by which GetCapability
//   claims nodes: number, kind, type, rank
// - attributes are of the type and in the range that the operator expects
// - fused operators' programs can be run; packed data belongs to a node, once
#pragma once

#include <span>
#include <vector>

#include "epiphyte/kit/container/graph.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Where a plan comes from: whose fault it is, and what to do.
enum class PlanOrigin { kMadeNow, kContext };

// How the kernel of each node is chosen. Throws kit::Error(EP_STATUS_INVALID_GRAPH), one line that names the node; an
// operator that no kernel is for is NOT_IMPLEMENTED in a plan that was made now.
std::vector<KernelRegistry::Choice> VerifyPlan(const ir::Graph& plan, std::span<const kit::PackedData> packed,
                                               const KernelRegistry& registry, PlanOrigin origin);

}  // namespace epiphyte::cpu
