// VerifyGraph: the only way from a graph to programs. A graph from a file may say anything, so everything that programs
// and replays rely on is checked here, before anything is built. A graph that was made just now is checked the same
// way.
//
// Guarantees afterwards:
// - The graph passes ir::Check.
// - Each node has an operator of the table, chosen by the rule by which GetCapability claims nodes.
// - Packed data belong to a node with an operator that packs, and occur once. All nodes that read a constant without
//   bytes packed it.
#pragma once

#include <span>
#include <vector>

#include "epiphyte/kit/container/graph.hpp"
#include "plugins/vulkan/exec/host_values.h"

namespace epiphyte::vulkan {

enum class GraphOrigin { kMadeNow, kContext };

struct VerifiedGraph {
  std::vector<const Operator*> operators;  // by node
  HostValues host_values;
};

// Throws kit::Error with one line that names the node. The status is INVALID_GRAPH for every defect of a context, and
// NOT_IMPLEMENTED for a node without operator in a graph that was made now.
VerifiedGraph VerifyGraph(const ir::Graph& graph, std::span<const kit::PackedData> packed,
                          const OperatorTable& operators, const Capabilities& capabilities, GraphOrigin origin);

}  // namespace epiphyte::vulkan
