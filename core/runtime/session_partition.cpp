#include "core/runtime/session_partition.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/context/compatibility.h"
#include "core/context/context_model.h"
#include "core/runtime/provider_calls.h"

namespace epiphyte::core {
namespace {

// Throws INVALID_GRAPH: the node's owner isn't one of the session's providers.
[[noreturn]] void FailWithoutOwner(const BuildTools& tools, const BoundNode& bound,
                                   std::span<const ProviderSlot> providers) {
  if (tools.config.providers.empty()) {
    Catalog& catalog = tools.environment.catalog();
    const ProviderSetup setup = SetUpProvider(catalog, catalog.Load(bound.owner), RequestOf(tools.config));
    if (!setup.left_out.empty()) {
      Fail(StatusCode::kInvalidGraph, "{}: {}", ContextNodeLabel(*bound.node), setup.left_out);
    }
  }
  std::vector<std::string> names;
  for (const ProviderSlot& used : providers) names.push_back(used.plugin->name);
  Fail(StatusCode::kInvalidGraph,
       "{}: its source belongs to provider '{}', and that is not in the session's list ({}); add it",
       ContextNodeLabel(*bound.node), bound.owner, fmt::join(names, ", "));
}

// A context model keeps the placement of its compilation: its plain nodes go to the providers that had them then, and
// to the fallback. A model that doesn't name these providers comes from another tool. There, by the specification,
// providers with contexts take only EPContext nodes. Other providers get only nodes that would have no provider at all.
bool MayHavePlainNodes(const SessionConfig& config, const ProviderSlot& slot, const Metadata& metadata) {
  if (slot.fallback) return true;
  if (const auto recorded = ReadPlainProviders(metadata)) {
    return std::find(recorded->begin(), recorded->end(), slot.plugin->name) != recorded->end();
  }
  return !slot.provider->SupportsContexts() && !config.disable_compile;
}

std::string WhyUnplaced(const BuildTools& tools, const Graph& graph, std::span<const ValueSpec> inputs,
                        const NodePlacement& node, const UnclaimedCalls& unclaimed_calls) {
  std::string reasons;
  const auto add = [&](std::string_view text) { reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", text); };
  for (const Decline& decline : node.declines) add(fmt::format("{}: {}", decline.provider, decline.reason));
  const std::string unknown = tools.schemas.WhyUnknown(node.domain, node.op_type, graph.Opset(node.domain));
  if (!unknown.empty()) add(unknown);
  const bool overridable =
      std::any_of(inputs.begin(), inputs.end(), [](const ValueSpec& input) { return input.default_value != nullptr; });
  if (overridable && !tools.config.constant_initializers)
    add("some initializers are inputs, too, and so no constants; session.constant_initializers=1 makes them constants");
  if (reasons.empty()) reasons = "none claimed it";
  for (const UnclaimedBody& body : unclaimed_calls.bodies()) {
    if (!node.name.starts_with(body.prefix)) continue;
    add(fmt::format("it belongs to the body of {}, which no provider claimed whole", body.label));
    for (const Decline& decline : body.declines) add(fmt::format("{}: {}", decline.provider, decline.reason));
  }
  return reasons;
}

}  // namespace

void PlaceContextNodes(const BuildTools& tools, const ContextBinding& contexts,
                       std::span<const ProviderSlot> providers) {
  for (const BoundNode& bound : contexts.nodes()) {
    if (tools.config.context.enable) {
      Fail(StatusCode::kInvalidGraph,
           "the model is a context model already: {}; give the source model to ep.context_enable",
           ContextNodeLabel(*bound.node));
    }
    if (!bound.readable) Fail(StatusCode::kInvalidGraph, "{}", bound.problem);
    if (bound.owner.empty()) {
      FailHinting(Hint::kListPlugins, StatusCode::kInvalidGraph, "{}, or run the source model instead",
                  UnownedSourceMessage(*bound.node, bound.attributes.source, tools.environment.catalog()));
    }
    const auto slot = std::find_if(providers.begin(), providers.end(), [&](const ProviderSlot& candidate) {
      return candidate.plugin->name == bound.owner;
    });
    if (slot == providers.end()) FailWithoutOwner(tools, bound, providers);
    bound.node->provider = static_cast<int32_t>(slot - providers.begin());
  }
}

std::vector<PartitionProvider> AskableProviders(const BuildTools& tools, std::span<const ProviderSlot> providers,
                                                const ContextBinding& contexts, const Metadata& metadata,
                                                AttemptFindings* findings) {
  std::vector<PartitionProvider> askable;
  for (const ProviderSlot& slot : providers) {
    PartitionProvider& added = askable.emplace_back();
    added.name = slot.plugin->name;
    added.device = slot.DeviceNames();
    added.get_capability = [&tools, &slot, findings](Graph& graph) {
      return AskProvider(tools, slot, graph, findings);
    };
    added.last_resort = !contexts.empty() && !MayHavePlainNodes(tools.config, slot, metadata);
  }
  return askable;
}

void CheckEverythingPlaced(const BuildTools& tools, const Graph& graph, std::span<const ValueSpec> inputs,
                           const Placement& placement, const UnclaimedCalls& unclaimed_calls) {
  size_t unplaced = 0;
  const NodePlacement* first = nullptr;
  for (const NodePlacement& node : placement.nodes) {
    if (!node.provider.empty() || node.is_run_by_host) continue;
    if (++unplaced == 1) first = &node;
  }
  if (first == nullptr) return;
  std::string more = unplaced == 1 ? "" : fmt::format(" (and {} more nodes)", unplaced - 1);
  FailHinting(Hint::kShowPlacement, StatusCode::kNotImplemented, "no provider runs operator {}{}{} of node '{}'{}: {}",
              first->domain, first->domain.empty() ? "" : ".", first->op_type, first->name, more,
              WhyUnplaced(tools, graph, inputs, *first, unclaimed_calls));
}

void LogPlacement(const Placement& placement, size_t first_warning) {
  for (size_t i = first_warning; i < placement.warnings.size(); ++i) {
    Log(LogLevel::kWarning, "placement", "{}", placement.warnings[i]);
  }
  Log(LogLevel::kInfo, "placement", "{}", placement.Summary());
}

void ExplainPartitions(std::span<const ProviderSlot> providers, PartitionResult* result) {
  for (size_t i = 0; i < providers.size(); ++i) {
    std::vector<const Partition*> mine;
    for (const Partition& partition : result->partitions) {
      if (partition.is_context || partition.provider != static_cast<int32_t>(i)) continue;
      partition.graph->Finalize();
      mine.push_back(&partition);
    }
    if (mine.empty()) continue;
    try {
      const std::vector<NodeNote> notes = providers[i].provider->Explain(mine);
      AddNotes(notes, result);
    } catch (const Error& error) {
      result->placement.warnings.push_back(error.message());
    }
  }
}

}  // namespace epiphyte::core
