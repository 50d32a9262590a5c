// What the NPU makes of each node of a partition, for the placement report.
#pragma once

#include <string>
#include <vector>

#include "plugins/npu/client/context.h"
#include "plugins/npu/graph/quantized_op.h"

namespace epiphyte::npu {

// By node of the graph: "conv, kept within 0 and 255, on npusim-16x16-256k", or "part of 'conv1' (Conv)".
std::vector<std::string> ExplainNodes(const SdkContext& context, ir::Graph& graph);

}  // namespace epiphyte::npu
