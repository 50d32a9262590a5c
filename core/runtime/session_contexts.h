// The contexts stage of making a session: opens the payloads of EPContext nodes, and lets their providers load them.
//
//   const std::vector<ContextBatch> batches = OpenContexts(tools, contexts, providers, payloads);
//   KernelsOfNodes kernels = LoadContexts(tools, providers, batches, model.metadata);
#pragma once

#include <span>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/context/context_binding.h"
#include "core/context/context_loader.h"
#include "core/context/context_metadata.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/provider_list.h"

namespace epiphyte::core {

// Opens the payloads that the placed nodes need and compares them with the records in `metadata`. Returns a batch for
// each provider; it is empty for a provider without nodes. `files` collects the mapped files, also when a later one
// fails.
std::vector<ContextBatch> OpenContexts(const BuildTools& tools, const ContextBinding& contexts,
                                       std::span<const ProviderSlot> providers, const PayloadAccess& access,
                                       const Metadata& metadata, UsedFiles* files);

// `batches`: one for each provider. Throws INVALID_GRAPH for a context that can't be used here or that its provider
// can't load, whatever code the provider gives, so that applications know to compile the model again.
KernelsOfNodes LoadContexts(const BuildTools& tools, std::span<const ProviderSlot> providers,
                            std::span<const ContextBatch> batches, const Metadata& metadata);

}  // namespace epiphyte::core
