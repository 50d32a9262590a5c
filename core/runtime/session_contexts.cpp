#include "core/runtime/session_contexts.h"

#include <utility>

#include "core/base/error.h"
#include "core/context/compatibility.h"

namespace epiphyte::core {

std::vector<ContextBatch> OpenContexts(const BuildTools& tools, const ContextBinding& contexts,
                                       std::span<const ProviderSlot> providers, const PayloadAccess& access,
                                       const Metadata& metadata, UsedFiles* files) {
  std::vector<ContextBatch> batches(providers.size());
  if (contexts.empty()) return batches;
  tools.progress.Enter(SessionPhase::kLoad, "");
  for (size_t i = 0; i < providers.size(); ++i) {
    if (!contexts.HasNodesOf(providers[i].plugin->name)) continue;
    Profiler::Span span(tools.profiler, "session", "open context");
    batches[i] = LoadPayloads(contexts, providers[i].plugin->name, access, metadata);
    for (const ContextBlob& blob : batches[i].blobs) {
      if (blob.file) files->Add(*blob.file);
    }
  }
  return batches;
}

KernelsOfNodes LoadContexts(const BuildTools& tools, std::span<const ProviderSlot> providers,
                            std::span<const ContextBatch> batches, const Metadata& metadata) {
  KernelsOfNodes loaded;
  for (size_t i = 0; i < providers.size(); ++i) {
    const ContextBatch& batch = batches[i];
    if (batch.nodes.empty()) continue;
    Profiler::Span span(tools.profiler, "session", "load context");
    const LoadedPlugin& plugin = *providers[i].plugin;
    tools.progress.Report(0, 0, plugin.name);
    RequireUsable(plugin, batch.to_load, batch.blobs, metadata, tools.config.context.refuse_suboptimal,
                  {providers[i].devices, providers[i].options});
    std::vector<std::unique_ptr<Kernel>> kernels;
    try {
      kernels = providers[i].provider->LoadContext(batch.to_load, batch.blobs);
    } catch (const Error& error) {
      if (error.code() == StatusCode::kModelLoadCanceled) throw;
      throw Error(StatusCode::kInvalidGraph, LoadFailureMessage(plugin, batch.to_load, error.message()));
    }
    for (size_t k = 0; k < kernels.size(); ++k) loaded[batch.nodes[k]] = std::move(kernels[k]);
    tools.progress.ThrowIfCancelled();
  }
  return loaded;
}

}  // namespace epiphyte::core
