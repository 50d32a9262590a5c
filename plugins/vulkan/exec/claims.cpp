#include "plugins/vulkan/exec/claims.h"

#include <algorithm>

#include "plugins/vulkan/exec/host_values.h"

namespace epiphyte::vulkan {

// A declined node runs on another provider, and its outputs arrive as graph inputs do. The host can then know them, so
// a node behind it may become supported. Nodes are therefore declined in waves: those behind a declined node wait for
// the next wave.
std::vector<NodeClaim> ClaimNodes(const ir::Graph& graph, const std::vector<bool>& taken,
                                  const OperatorTable& operators, const Capabilities& capabilities) {
  std::vector<NodeClaim> claims(graph.nodes.size());
  std::vector<bool> foreign = taken;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    if (operators.Find(node.domain, node.op_type, node.since_version, EP_TYPE_UNDEFINED) != nullptr) continue;
    foreign[n] = true;
    claims[n].why_not = "this plugin has no kernel for the operator";
  }
  for (bool more = true; more;) {
    more = false;
    const HostValues values = FindHostValues(graph, operators, foreign);
    std::vector<bool> behind_declined(graph.values.size(), false);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (foreign[n]) continue;
      const ir::Node& node = graph.nodes[n];
      const bool waits = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) {
        return input >= 0 && behind_declined[static_cast<size_t>(input)];
      });
      std::string why;
      const bool declined = !waits && operators.Choose(graph, node, capabilities, values.known, &why) == nullptr;
      if (declined) {
        foreign[n] = true;
        claims[n].why_not = why;
        more = true;
      }
      if (declined || waits)
        for (const int32_t output : node.outputs)
          if (output >= 0) behind_declined[static_cast<size_t>(output)] = true;
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) claims[n].claimed = !foreign[n];
  return claims;
}

}  // namespace epiphyte::vulkan
