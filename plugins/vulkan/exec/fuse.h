// Fusions: rewrites of a graph before it is compiled, by the kit's passes (epiphyte/kit/fuse/passes.hpp). They make
// only nodes that the operator table supports. The result depends on nothing but the graph, the table and the
// capabilities: the same graph always gives the same result.
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/fuse/pipeline.hpp"
#include "plugins/vulkan/ops/operator.h"

namespace epiphyte::vulkan {

// A pass is kept only if the table's operators support all nodes that it makes. The table and the capabilities must
// outlive the pipeline. `made`: see kit::fuse::FoldIntoConvolutions.
kit::fuse::Pipeline MakePipeline(const OperatorTable& operators, const Capabilities& capabilities,
                                 const std::function<void(uint64_t bytes)>& made = {});
// Makes the pipeline and runs it.
void Fuse(ir::Graph& graph, const OperatorTable& operators, const Capabilities& capabilities,
          const std::function<void(uint64_t bytes)>& made = {});

}  // namespace epiphyte::vulkan
