#include "plugins/vulkan/share.h"

#include <algorithm>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::vulkan {

void ShareWorkspace::AddGraphs(std::span<const std::shared_ptr<CompiledGraph>> graphs) {
  const std::lock_guard lock(mutex_);
  for (const auto& graph : graphs) {
    const auto same_name = [&](const auto& other) { return other->graph().name == graph->graph().name; };
    if (std::any_of(graphs_.begin(), graphs_.end(), same_name))
      kit::FailArgument("two sessions of the share group have a partition '", graph->graph().name,
                        "'; give each its own ep.context_node_name_prefix");
    graphs_.push_back(graph);
  }
}

std::vector<std::shared_ptr<CompiledGraph>> ShareWorkspace::TakeGraphs() {
  const std::lock_guard lock(mutex_);
  return std::exchange(graphs_, {});
}

}  // namespace epiphyte::vulkan
