// Claims: which nodes of a graph run here, and why not the others.
//
//     const std::vector<NodeClaim> claims = ClaimNodes(graph, taken, operators, capabilities);
//     if (!claims[n].claimed) Decline(n, claims[n].why_not);
#pragma once

#include <string>
#include <vector>

#include "plugins/vulkan/ops/operator.h"

namespace epiphyte::vulkan {

struct NodeClaim {
  bool claimed = false;
  std::string why_not;
};

// Returns one claim per node. `taken`: the nodes that another provider has.
std::vector<NodeClaim> ClaimNodes(const ir::Graph& graph, const std::vector<bool>& taken,
                                  const OperatorTable& operators, const Capabilities& capabilities);

}  // namespace epiphyte::vulkan
