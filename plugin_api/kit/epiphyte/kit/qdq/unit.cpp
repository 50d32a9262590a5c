#include "epiphyte/kit/qdq/unit.hpp"

namespace epiphyte::kit::qdq {

std::string NodeText(const ir::Graph& graph, const ir::Node& node) {
  std::string name = node.name;
  for (size_t i = 0; i < node.outputs.size() && name.empty(); ++i) {
    if (node.HasOutput(i)) name = graph.values[static_cast<size_t>(node.outputs[i])].name;
  }
  return node.op_type + " '" + name + "'";
}

}  // namespace epiphyte::kit::qdq
