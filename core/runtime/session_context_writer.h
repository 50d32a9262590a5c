// The write stage of making a session: writes the context model of ep.context_enable=1.
//
//   WrittenContext written = WriteContextModel(tools, {providers, partitions, model}, *generator, share, findings);
//   if (written.error) return Restart(*written.error);
#pragma once

#include <optional>
#include <span>

#include "core/context/context_generator.h"
#include "core/graph/graph.h"
#include "core/partition/partitioner.h"
#include "core/runtime/attempt_findings.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/provider_list.h"
#include "core/runtime/session_parts.h"
#include "core/runtime/session_share.h"

namespace epiphyte::core {

// A model with compiled partitions.
struct CompiledModel {
  std::span<const ProviderSlot> providers;
  const PartitionResult& partitions;
  Model& model;  // is moved from
};

struct WrittenContext {
  // Empty when nothing was written: the session isn't the last of its share group, or there is nothing to compile.
  std::optional<ContextOutput> output;
  std::optional<OptionalProviderError> error;  // set: nothing was written, and the session goes on without the provider
};
WrittenContext WriteContextModel(const BuildTools& tools, CompiledModel compiled, ContextGenerator& generator,
                                 SessionShare& share, const AttemptFindings& findings);

// Whether the provider's partitions become EPContext nodes; plain nodes otherwise.
bool MakesContexts(const SessionConfig& config, const ProviderSlot& slot);

}  // namespace epiphyte::core
