// Fusions: rewrites of a graph before it is compiled, by the kit's recognisers (epiphyte/kit/fuse), for what the table
// has operators for. They rely on nothing but the graph, the table and the capabilities: the same graph always gives the
// same result.
#pragma once

#include <cstdint>
#include <functional>

#include "plugins/vulkan/ops/operator.h"

namespace epiphyte::vulkan {

// A fusion is kept only if the table's operators support all nodes that it makes. `made`: see
// kit::fuse::FoldIntoConvolutions.
void Fuse(ir::Graph& graph, const OperatorTable& operators, const Capabilities& capabilities,
          const std::function<void(uint64_t bytes)>& made = {});

}  // namespace epiphyte::vulkan
