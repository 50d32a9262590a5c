// Host values: the values of a graph that the host will know when it makes a program, and the inputs that it must read
// for that. They are shapes, axes, indices and values computed from them.
//
//     const HostValues values = FindHostValues(graph, operators);
//     operators.Choose(graph, node, capabilities, values.known, &why);
#pragma once

#include <vector>

#include "plugins/vulkan/ops/operator.h"

namespace epiphyte::vulkan {

struct HostValues {
  std::vector<bool> known;         // by value: its elements are known to the host when a program is made
  std::vector<bool> could_know;    // by value: they would be known if an operator needed them
  std::vector<bool> reads_inputs;  // by input of the graph: the host reads its elements before each run
};

// `foreign`: by node, whether another provider runs it, so that its outputs arrive like inputs of the graph. Empty: no
// node is foreign.
HostValues FindHostValues(const ir::Graph& graph, const OperatorTable& operators, const std::vector<bool>& foreign = {});

}  // namespace epiphyte::vulkan
