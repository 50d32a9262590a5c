// The session builder's contexts: loads EPContext nodes, and writes the context model.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/context/compatibility.h"
#include "core/context/context_loader.h"
#include "core/runtime/session_builder.h"

namespace epiphyte::core {
namespace {

// Text that says why the model gave no context, provider by provider.
std::string WhyNoContexts(const std::vector<ProviderSlot>& providers, const Placement& placement) {
  if (placement.nodes.empty()) {
    return placement.removed.empty() ? "the model has no nodes"
                                     : "nothing is left to compile: everything that it computes is known beforehand";
  }
  std::vector<std::string> reasons;
  for (const ProviderSlot& slot : providers) {
    const std::string& name = slot.plugin->name;
    const auto nodes = std::count_if(placement.nodes.begin(), placement.nodes.end(),
                                     [&](const NodePlacement& node) { return node.provider == name; });
    if (nodes == 0) {
      reasons.push_back(fmt::format("'{}' got no node", name));
    } else if (!slot.provider->SupportsContexts()) {
      reasons.push_back(
          fmt::format("'{}' makes no contexts of its {}", name, CountText(static_cast<uint64_t>(nodes), "node")));
    } else {
      reasons.push_back(
          fmt::format("'{}' is only the fallback and doesn't compile the {} that it got; add it to the session's "
                      "providers to have them compiled",
                      name, CountText(static_cast<uint64_t>(nodes), "node")));
    }
  }
  return fmt::format("{}", fmt::join(reasons, ", "));
}

}  // namespace

void SessionBuilder::LoadContexts() {
  PayloadAccess load;
  load.model = ContextBase();
  load.digests = config_.context.verify_digests ? PayloadAccess::kRecorded : PayloadAccess::kNone;
  load.embedded_verified = source_.seal_checked();
  load.store = config_.context_store;
  load.pool = pool_;
  load.group = loading_group_.get();
  load.on_progress = progress_.MakeProgressCallback();
  if (!contexts_.empty()) progress_.Enter(SessionPhase::kLoad, "");
  std::vector<ContextBatch> batches(providers_.size());
  for (size_t i = 0; i < providers_.size(); ++i) {
    if (!contexts_.HasNodesOf(providers_[i].plugin->name)) continue;
    Profiler::Span span(profiler_, "session", "open context");
    batches[i] = LoadPayloads(contexts_, providers_[i].plugin->name, load, model_.metadata);
    for (const ContextBlob& blob : batches[i].blobs) {
      if (blob.file) payload_files_.Add(*blob.file);
    }
  }
  reading_.reset();
  for (size_t i = 0; i < providers_.size(); ++i) {
    if (!contexts_.HasNodesOf(providers_[i].plugin->name)) continue;
    Profiler::Span span(profiler_, "session", "load context");
    progress_.Report(0, 0, providers_[i].plugin->name);
    const ContextBatch& batch = batches[i];
    const LoadedPlugin& plugin = *providers_[i].plugin;
    RequireUsable(plugin, batch.to_load, batch.blobs, model_.metadata, config_.context.refuse_suboptimal,
                  {providers_[i].devices, providers_[i].options});
    std::vector<std::unique_ptr<Kernel>> kernels;
    try {
      kernels = providers_[i].provider->LoadContext(batch.to_load, batch.blobs);
    } catch (const Error& error) {
      // A context that can't be loaded is always INVALID_GRAPH, whatever code the plugin gave, so that applications can
      // recompile.
      if (error.code() == StatusCode::kModelLoadCanceled) throw;
      throw Error(StatusCode::kInvalidGraph, LoadFailureMessage(plugin, batch.to_load, error.message()));
    }
    for (size_t k = 0; k < kernels.size(); ++k) kernels_[batch.nodes[k]] = std::move(kernels[k]);
    progress_.ThrowIfCancelled();
  }
}

bool SessionBuilder::MakesContexts(const ProviderSlot& slot) const {
  return slot.provider->SupportsContexts() && (slot.listed || !slot.fallback || config_.context.for_cache);
}

// Checks that this session has the providers with deferred payloads: earlier sessions of the group rely on it to have
// them written.
void SessionBuilder::CheckDeferredProviders() const {
  for (const std::string& name : generator_->set().deferred_providers()) {
    const bool present = std::any_of(providers_.begin(), providers_.end(),
                                     [&](const ProviderSlot& slot) { return slot.plugin->name == name; });
    if (present) continue;
    if (left_out_.contains(name)) {
      Fail(
          StatusCode::kEpFail,
          "earlier sessions of the share group compiled for provider '{}', which failed in this last one ({}); end the "
          "group with another session",
          name, fmt::join(optional_provider_errors_, "; "));
    }
    Fail(StatusCode::kInvalidArgument,
         "earlier sessions of the share group compiled for provider '{}', which this last session doesn't use; list "
         "the same providers in all sessions of a group",
         name);
  }
}

// Providers without deferred payloads go first: if one of them fails, the session can still go on without it.
void SessionBuilder::AddContexts(const std::vector<bool>& makes, const std::vector<std::string>& deferred_providers,
                                 const std::vector<std::vector<const core::Partition*>>& by_provider,
                                 const ProgressCallback& on_progress) {
  for (const bool writes_others : {false, true}) {
    for (size_t i = 0; i < providers_.size(); ++i) {
      const ProviderSlot& slot = providers_[i];
      const bool owes = std::find(deferred_providers.begin(), deferred_providers.end(), slot.plugin->name) !=
                        deferred_providers.end();
      if ((!makes[i] && !owes) || owes != writes_others) continue;
      const auto add = [&] { generator_->AddProvider(*slot.provider, by_provider[i], on_progress); };
      if (owes) {
        spent_ = true;
        add();
      } else {
        CallingUnlisted(slot, add);
      }
    }
  }
}

void SessionBuilder::WriteContextModel() {
  Profiler::Span span(profiler_, "session", "write context model");
  progress_.Enter(SessionPhase::kWrite, generator_->target().model.filename().string());
  const ProgressCallback on_progress = progress_.MakeProgressCallback();
  const bool last = !compiling_group_ || config_.share.stop;
  if (last) CheckDeferredProviders();
  const std::vector<std::string> deferred_providers =
      last ? generator_->set().deferred_providers() : std::vector<std::string>();
  const auto owes = [&](const ProviderSlot& slot) {
    return std::find(deferred_providers.begin(), deferred_providers.end(), slot.plugin->name) !=
           deferred_providers.end();
  };
  std::vector<std::vector<const core::Partition*>> by_provider(providers_.size());
  for (const core::Partition& partition : partitions_.partitions) {
    by_provider[static_cast<size_t>(partition.provider)].push_back(&partition);
  }
  std::vector<bool> makes(providers_.size());
  for (size_t i = 0; i < providers_.size(); ++i) {
    makes[i] = !by_provider[i].empty() && (MakesContexts(providers_[i]) || owes(providers_[i]));
  }
  const auto none = [&] { return std::find(makes.begin(), makes.end(), true) == makes.end(); };
  // Without a list the fallback may be the only provider; then its contexts are the requested ones.
  const ProviderSlot* fallback = Fallback();
  if (none() && config_.providers.empty() && fallback != nullptr && fallback->provider->SupportsContexts()) {
    const auto place = static_cast<size_t>(fallback - providers_.data());
    makes[place] = !by_provider[place].empty();
  }
  std::vector<const core::Partition*> plain;
  for (const core::Partition& partition : partitions_.partitions) {
    if (!makes[static_cast<size_t>(partition.provider)]) plain.push_back(&partition);
  }
  std::vector<std::string> plain_providers;
  for (size_t i = 0; i < providers_.size(); ++i) {
    if (!makes[i] && !by_provider[i].empty()) plain_providers.push_back(providers_[i].plugin->name);
  }
  using IfEmpty = SessionConfig::Context::IfEmpty;
  const std::string why_empty = none() ? WhyNoContexts(providers_, partitions_.placement) : std::string();
  if (!why_empty.empty() && config_.context.if_empty == IfEmpty::kError) {
    FailHinting(Hint::kWritePlain, StatusCode::kInvalidArgument,
                "no context model can be made of '{}': {}; run the model as it is, or set epiphyte.context_if_empty to "
                "plain to have it written with plain nodes",
                generator_->target().source_model_name, why_empty);
  }
  const bool empty = !why_empty.empty() && config_.context.if_empty == IfEmpty::kSkip;
  if (empty) {
    Log(LogLevel::kWarning, "context", "no context model was written for '{}': {}",
        generator_->target().source_model_name, why_empty);
  }
  const std::vector<std::string> earlier =
      compiling_group_ ? generator_->set().ModelNames() : std::vector<std::string>();
  try {
    AddContexts(makes, deferred_providers, by_provider, on_progress);
    if (!empty) generator_->Assemble(std::move(model_), plain, plain_providers);
    if (last && !(empty && deferred_providers.empty())) generator_->Publish(on_progress);
  } catch (const Error& error) {
    if (!spent_ || earlier.empty()) throw;
    throw error.WithMessage(
        fmt::format("{}; share group '{}' is given up, and with it what earlier sessions compiled for '{}': compile "
                    "these models again",
                    error.message(), config_.share.group, fmt::join(earlier, "', '")));
  }
  joined_ = true;
  if (last && !empty) {
    context_output_ = ContextOutput{generator_->target().model, generator_->set().files(),
                                    generator_->context_node_count(), generator_->plain_node_count()};
  }
}

}  // namespace epiphyte::core
