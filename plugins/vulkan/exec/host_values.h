// Host values: which values of a graph the host will know when it makes a program, and which inputs it must read for
// that: shapes, axes, indices and what is computed of them.
//
//     const HostValues values = FindHostValues(graph, operators);
//     operators.Choose(graph, node, capabilities, values.known, &why);
#pragma once

#include <vector>

#include "plugins/vulkan/ops/operator.h"

namespace epiphyte::vulkan {

struct HostValues {
  std::vector<bool> known;         // by value: its elements are known to the host when a program is made
  std::vector<bool> could_know;    // by value: they would be, if somebody needed them
  std::vector<bool> reads_inputs;  // by input of the graph: the host reads its elements before each run
};

// `foreign`: by node, those that somebody else runs, so that their outputs arrive as the graph's inputs do. Empty: none.
HostValues FindHostValues(const ir::Graph& graph, const OperatorTable& operators, const std::vector<bool>& foreign = {});

}  // namespace epiphyte::vulkan
