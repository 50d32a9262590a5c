// The partition stage of making a session: gives nodes to providers, and explains what no provider takes.
//
//   PlaceContextNodes(tools, contexts, providers);
//   PartitionResult result = PartitionGraph(*model.graph, askable, prefix, names);
//   CheckEverythingPlaced(tools, *model.graph, inputs, result.placement, findings.unclaimed_calls());
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/context/context_binding.h"
#include "core/context/context_metadata.h"
#include "core/graph/graph.h"
#include "core/partition/partitioner.h"
#include "core/partition/placement.h"
#include "core/runtime/attempt_findings.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/provider_list.h"
#include "core/runtime/session_parts.h"

namespace epiphyte::core {

// Gives each EPContext node to the provider that owns its source: sets Node::provider. Throws INVALID_GRAPH for a node
// with malformed attributes, or one that the session has no provider for.
void PlaceContextNodes(const BuildTools& tools, const ContextBinding& contexts,
                       std::span<const ProviderSlot> providers);

// The providers as the partitioner asks them. They refer to the arguments. `metadata`: of a context model.
std::vector<PartitionProvider> AskableProviders(const BuildTools& tools, std::span<const ProviderSlot> providers,
                                                const ContextBinding& contexts, const Metadata& metadata,
                                                AttemptFindings* findings);

// Throws NOT_IMPLEMENTED when a node has no provider, with the reasons. `inputs`: of the model.
void CheckEverythingPlaced(const BuildTools& tools, const Graph& graph, std::span<const ValueSpec> inputs,
                           const Placement& placement, const UnclaimedCalls& unclaimed_calls);

// Logs the placement, and its warnings from the one with index `first_warning` on.
void LogPlacement(const Placement& placement, size_t first_warning);

// Asks providers for notes on the nodes of their partitions, for the placement.
void ExplainPartitions(std::span<const ProviderSlot> providers, PartitionResult* result);

}  // namespace epiphyte::core
