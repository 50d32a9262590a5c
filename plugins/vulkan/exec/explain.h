// Explain: which kernels would run the nodes of a graph, and why not faster ones: notes for the placement report.
//
//     const std::vector<std::string> notes = ExplainNodes(imported, config);   // one per node
#pragma once

#include <string>
#include <vector>

#include "plugins/vulkan/exec/compiled_graph.h"

namespace epiphyte::vulkan {

// Returns a note for each node of a graph as it was imported, before fusions: "conv.f32: conv; not conv_tiled: the
// device has no shared_memory", "part of 'c' (Conv)", "no kernel: its work is part of a constant". Kernels are known if
// all shapes are.
std::vector<std::string> ExplainNodes(const ir::Graph& graph, const CompileConfig& config);

}  // namespace epiphyte::vulkan
