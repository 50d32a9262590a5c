// Explains, for the placement report, how the NPU computes each node of a partition.
#pragma once

#include <string>
#include <vector>

#include "plugins/npu/client/context.h"
#include "plugins/npu/graph/quantized_op.h"

namespace epiphyte::npu {

// One text for each node of the graph: "conv, kept within 0 and 255, on npusim-16x16-256k", or "part of 'conv1'
// (Conv)".
std::vector<std::string> ExplainNodes(const SdkContext& context, ir::Graph& graph);

}  // namespace epiphyte::npu
