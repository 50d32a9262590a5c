#include "epiphyte/kit/plugin/stored_partition.hpp"

#include <utility>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::kit {

StoredPartition ReadPartition(const ContextLoading& loading, size_t node,
                              std::span<const std::shared_ptr<const ContextContainer>> contexts, GraphCheck check) {
  const std::string_view wanted = loading.node(node).partition_name();
  StoredPartition found;
  const std::span<const uint32_t> places = loading.PayloadsOf(node);
  for (const uint32_t place : places) {
    const std::shared_ptr<const ContextContainer>& context = contexts[place];
    const std::optional<std::string_view> name = FindGraph(*context, wanted);
    if (!name) continue;
    found.name = *name;
    found.context = context;
    break;
  }
  const std::string_view whose = contexts[places.front()]->whose();
  if (found.context == nullptr && wanted.empty())
    FailWith(EP_STATUS_INVALID_GRAPH, "a node has neither partition_name nor a name, and ", whose,
             " does not hold exactly one partition; compile the model again");
  if (found.context == nullptr)
    FailWith(EP_STATUS_INVALID_GRAPH, whose, " holds no partition '", wanted,
             "'; the model and its binary don't belong together: compile the model again");
  found.stored = ReadGraph(*found.context, found.name, check);
  const NodeView view = loading.node(node).node();
  const ir::Graph& graph = found.stored.graph;
  if (view.input_count() != graph.inputs.size() || view.output_count() != graph.outputs.size())
    FailWith(EP_STATUS_INVALID_GRAPH, "partition '", found.name, "' has ", graph.inputs.size(), " inputs and ",
             graph.outputs.size(), " outputs in ", whose, ", its node has ", view.input_count(), " and ",
             view.output_count(), "; compile the model again");
  return found;
}

}  // namespace epiphyte::kit
