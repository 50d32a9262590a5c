#include "core/runtime/session_context_writer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/runtime/provider_calls.h"

namespace epiphyte::core {
namespace {

// Text that says why the model gave no context, provider by provider.
std::string WhyNoContexts(std::span<const ProviderSlot> providers, const Placement& placement) {
  if (placement.nodes.empty()) {
    return placement.removed.empty() ? "the model has no nodes"
                                     : "nothing is left to compile: everything that it computes is known beforehand";
  }
  std::vector<std::string> reasons;
  for (const ProviderSlot& slot : providers) {
    const std::string& name = slot.plugin->name;
    const auto nodes = std::count_if(placement.nodes.begin(), placement.nodes.end(),
                                     [&](const NodePlacement& node) { return node.provider == name; });
    const std::string node_count = CountText(static_cast<uint64_t>(nodes), "node");
    if (nodes == 0) {
      reasons.push_back(fmt::format("'{}' got no node", name));
    } else if (!slot.provider->SupportsContexts()) {
      reasons.push_back(fmt::format("'{}' makes no contexts of its {}", name, node_count));
    } else {
      reasons.push_back(
          fmt::format("'{}' is only the fallback and doesn't compile the {} that it got; add it to the session's "
                      "providers to have them compiled",
                      name, node_count));
    }
  }
  return fmt::format("{}", fmt::join(reasons, ", "));
}

// Checks that this session has the providers with deferred payloads: earlier sessions of the group rely on it to have
// them written.
void CheckDeferredProviders(const std::vector<std::string>& deferred, std::span<const ProviderSlot> providers,
                            const AttemptFindings& findings) {
  for (const std::string& name : deferred) {
    const bool present = std::any_of(providers.begin(), providers.end(),
                                     [&](const ProviderSlot& slot) { return slot.plugin->name == name; });
    if (present) continue;
    if (findings.HasFailed(name)) {
      Fail(
          StatusCode::kEpFail,
          "earlier sessions of the share group compiled for provider '{}', which failed in this last one ({}); end the "
          "group with another session",
          name, fmt::join(findings.provider_errors(), "; "));
    }
    Fail(StatusCode::kInvalidArgument,
         "earlier sessions of the share group compiled for provider '{}', which this last session doesn't use; list "
         "the same providers in all sessions of a group",
         name);
  }
}

// The part of one provider in the context model.
struct ProviderPart {
  const ProviderSlot* slot = nullptr;
  std::vector<const Partition*> partitions;
  bool makes_contexts = false;        // compiles its partitions into contexts
  bool has_deferred_payload = false;  // earlier sessions of the group rely on it to write their payload now
};

std::vector<ProviderPart> PartsOf(const SessionConfig& config, const CompiledModel& compiled,
                                  const std::vector<std::string>& deferred) {
  std::vector<ProviderPart> parts;
  for (const ProviderSlot& slot : compiled.providers) {
    ProviderPart& part = parts.emplace_back();
    part.slot = &slot;
    part.has_deferred_payload = std::find(deferred.begin(), deferred.end(), slot.plugin->name) != deferred.end();
  }
  for (const Partition& partition : compiled.partitions.partitions) {
    parts[static_cast<size_t>(partition.provider)].partitions.push_back(&partition);
  }
  for (ProviderPart& part : parts) {
    part.makes_contexts = !part.partitions.empty() && (MakesContexts(config, *part.slot) || part.has_deferred_payload);
  }
  const auto makes = [](const ProviderPart& part) { return part.makes_contexts; };
  if (std::any_of(parts.begin(), parts.end(), makes) || !config.providers.empty()) return parts;
  // Without a list the fallback may be the only provider; then its contexts are the requested ones.
  const auto fallback =
      std::find_if(parts.begin(), parts.end(), [](const ProviderPart& part) { return part.slot->fallback; });
  if (fallback != parts.end() && fallback->slot->provider->SupportsContexts()) {
    fallback->makes_contexts = !fallback->partitions.empty();
  }
  return parts;
}

// Providers without deferred payloads go first: if one of them fails, the session can still go on without it.
std::optional<OptionalProviderError> AddContexts(const BuildTools& tools, std::span<const ProviderPart> parts,
                                                 ContextGenerator& generator, SessionShare& share,
                                                 const ProgressCallback& on_progress) {
  for (const bool writes_deferred : {false, true}) {
    for (const ProviderPart& part : parts) {
      if (!part.makes_contexts && !part.has_deferred_payload) continue;
      if (part.has_deferred_payload != writes_deferred) continue;
      const auto add = [&] { generator.AddProvider(*part.slot->provider, part.partitions, on_progress); };
      if (part.has_deferred_payload) {
        share.MarkSpent();
        add();
      } else if (auto error = CallProvider(tools, *part.slot, add)) {
        return error;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

bool MakesContexts(const SessionConfig& config, const ProviderSlot& slot) {
  return slot.provider->SupportsContexts() && (slot.listed || !slot.fallback || config.context.for_cache);
}

WrittenContext WriteContextModel(const BuildTools& tools, CompiledModel compiled, ContextGenerator& generator,
                                 SessionShare& share, const AttemptFindings& findings) {
  Profiler::Span span(tools.profiler, "session", "write context model");
  tools.progress.Enter(SessionPhase::kWrite, generator.target().model.filename().string());
  const ProgressCallback on_progress = tools.progress.MakeProgressCallback();
  const bool publishes = share.Publishes();
  const std::vector<std::string> deferred =
      publishes ? generator.set().deferred_providers() : std::vector<std::string>();
  CheckDeferredProviders(deferred, compiled.providers, findings);
  const std::vector<ProviderPart> parts = PartsOf(tools.config, compiled, deferred);
  std::vector<const Partition*> plain;
  for (const Partition& partition : compiled.partitions.partitions) {
    if (!parts[static_cast<size_t>(partition.provider)].makes_contexts) plain.push_back(&partition);
  }
  std::vector<std::string> plain_providers;
  bool has_contexts = false;
  for (const ProviderPart& part : parts) {
    has_contexts = has_contexts || part.makes_contexts;
    if (!part.makes_contexts && !part.partitions.empty()) plain_providers.push_back(part.slot->plugin->name);
  }
  using IfEmpty = SessionConfig::Context::IfEmpty;
  const IfEmpty if_empty = tools.config.context.if_empty;
  const std::string why_empty =
      has_contexts ? std::string() : WhyNoContexts(compiled.providers, compiled.partitions.placement);
  if (!why_empty.empty() && if_empty == IfEmpty::kError) {
    FailHinting(Hint::kWritePlain, StatusCode::kInvalidArgument,
                "no context model can be made of '{}': {}; run the model as it is, or set epiphyte.context_if_empty to "
                "plain to have it written with plain nodes",
                generator.target().source_model_name, why_empty);
  }
  const bool skips = !why_empty.empty() && if_empty == IfEmpty::kSkip;
  if (skips) {
    Log(LogLevel::kWarning, "context", "no context model was written for '{}': {}",
        generator.target().source_model_name, why_empty);
  }
  const std::vector<std::string> earlier = share.EarlierModels();
  WrittenContext written;
  try {
    written.error = AddContexts(tools, parts, generator, share, on_progress);
    if (written.error) return written;
    if (!skips) generator.Assemble(std::move(compiled.model), plain, plain_providers);
    if (publishes && !(skips && deferred.empty())) generator.Publish(on_progress);
  } catch (const Error& error) {
    if (!share.is_spent() || earlier.empty()) throw;
    throw error.WithMessage(
        fmt::format("{}; share group '{}' is given up, and with it what earlier sessions compiled for '{}': compile "
                    "these models again",
                    error.message(), share.group_name(), fmt::join(earlier, "', '")));
  }
  share.MarkJoined();
  if (publishes && !skips) {
    written.output = ContextOutput{generator.target().model, generator.set().files(), generator.context_node_count(),
                                   generator.plain_node_count()};
  }
  return written;
}

}  // namespace epiphyte::core
