#include "core/runtime/provider_calls.h"

#include "core/base/error.h"

namespace epiphyte::core {

std::optional<OptionalProviderError> CallProvider(const BuildTools& tools, const ProviderSlot& slot,
                                                  const std::function<void()>& call) {
  try {
    call();
    return std::nullopt;
  } catch (const Error& error) {
    tools.progress.ThrowIfCancelled();
    if (slot.listed || slot.fallback || error.code() == StatusCode::kModelLoadCanceled) throw;
    return OptionalProviderError{slot.plugin->name, error.message()};
  }
}

Capability AskProvider(const BuildTools& tools, const ProviderSlot& slot, Graph& graph, AttemptFindings* findings) {
  tools.progress.Report(0, 0, slot.plugin->name);
  Capability capability;
  const auto error = CallProvider(tools, slot, [&] { capability = slot.provider->GetCapability(graph); });
  if (error) findings->AddProviderError(error->reason);
  return capability;
}

}  // namespace epiphyte::core
