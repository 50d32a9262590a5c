// Calls on the providers of a session. The error of a provider that is listed, or that is the fallback, is the
// session's error. The error of any other provider is returned, and the session goes on without that provider.
//
//   if (auto error = CallProvider(tools, slot, [&] { compiled = slot.provider->Compile(partitions); })) return *error;
#pragma once

#include <functional>
#include <optional>

#include "core/partition/partitioner.h"
#include "core/runtime/attempt_findings.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/provider_list.h"

namespace epiphyte::core {

// Throws MODEL_LOAD_CANCELED when the application has cancelled, whatever the provider answers.
std::optional<OptionalProviderError> CallProvider(const BuildTools& tools, const ProviderSlot& slot,
                                                  const std::function<void()>& call);

// Asks the provider which nodes of the graph it can run. An optional provider that fails claims none, and its error
// goes into the findings.
Capability AskProvider(const BuildTools& tools, const ProviderSlot& slot, Graph& graph, AttemptFindings* findings);

}  // namespace epiphyte::core
