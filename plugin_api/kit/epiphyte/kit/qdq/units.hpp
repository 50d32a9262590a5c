// QDQ node units: an operator together with the DequantizeLinear nodes in front of it and the QuantizeLinear nodes
// behind it. Providers for integer hardware claim such units whole (EpCapabilityApi::Claim with EP_CLAIM_TOGETHER).
//
//   for (const QdqUnit& unit : FindQdqUnits(host, graph)) {
//     if (unit.target.Is("Conv")) Claim(unit.nodes);
//   }
#pragma once

#include <unordered_map>
#include <vector>

#include "epiphyte/kit/abi/graph_view.hpp"

namespace epiphyte::kit {

struct QdqUnit {
  NodeView target;
  std::vector<const EpNode*> dequantize;  // one for each input that has one, in input order
  std::vector<const EpNode*> quantize;    // one for each output that has one
  std::vector<const EpNode*> nodes;       // all of the above, in execution order
};

// Units of the graph in execution order. A DequantizeLinear belongs to a unit only if nothing else reads it, and so
// does a QuantizeLinear only if it is the sole reader; a target whose every float input is dequantised and whose every
// output is quantised makes a unit. No node is in two units.
inline std::vector<QdqUnit> FindQdqUnits(const EpHostInfo& host, const GraphView& graph) {
  std::unordered_map<const EpNode*, size_t> position;
  for (size_t i = 0; i < graph.node_count(); ++i) position[graph.node(i).handle()] = i;
  std::vector<QdqUnit> units;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    NodeView node = graph.node(i);
    if (node.Is("QuantizeLinear") || node.Is("DequantizeLinear") || node.has_subgraphs()) continue;
    QdqUnit unit{node, {}, {}, {}};
    bool complete = node.input_count() > 0;
    for (size_t k = 0; complete && k < node.input_count(); ++k) {
      ValueView input = node.input(k);
      if (!input || input.element_type() != EP_TYPE_FLOAT) continue;
      complete = input.producer() != nullptr && NodeView(host, input.producer()).Is("DequantizeLinear") &&
                 input.consumers().size() == 1 && !input.IsGraphOutput();
      if (complete) unit.dequantize.push_back(input.producer());
    }
    for (size_t k = 0; complete && k < node.output_count(); ++k) {
      ValueView output = node.output(k);
      if (!output) continue;
      complete = output.consumers().size() == 1 && !output.IsGraphOutput() &&
                 NodeView(host, output.consumers()[0]).Is("QuantizeLinear");
      if (complete) unit.quantize.push_back(output.consumers()[0]);
    }
    if (!complete || unit.dequantize.empty() || unit.quantize.empty()) continue;
    unit.nodes = unit.dequantize;
    unit.nodes.push_back(node.handle());
    unit.nodes.insert(unit.nodes.end(), unit.quantize.begin(), unit.quantize.end());
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace epiphyte::kit
