// VerifyPlan: the only way from a graph to kernels. A plan from a file is untrusted, so all that Plan, Frame and the
// kernels rely on is checked here, before any kernel is made. A plan that was just compiled is checked in the same way.
//
// A verified plan has these properties:
// - the graph is well-formed (ir::Check)
// - each node's operator and version is known, and its inputs and outputs fit the signature by which GetCapability
//   claims nodes: number, kind, type, rank
// - attributes have the type and range that the operator expects
// - programs of fused operators can be run; each packed datum belongs to one node and occurs once
#pragma once

#include <span>
#include <vector>

#include "epiphyte/kit/container/graph.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Origin of a plan. It decides which error is reported and with which advice.
enum class PlanOrigin { kMadeNow, kContext };

// Chooses the kernel of each node. Throws kit::Error(EP_STATUS_INVALID_GRAPH) with one line that names the node. In a
// plan that was just compiled, an operator without a kernel is NOT_IMPLEMENTED instead.
std::vector<KernelRegistry::Choice> VerifyPlan(const ir::Graph& plan, std::span<const kit::PackedData> packed,
                                               const KernelRegistry& registry, PlanOrigin origin);

}  // namespace epiphyte::cpu
