#include "core/runtime/session_attempt.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/context/context_model.h"
#include "core/runtime/session_compile.h"
#include "core/runtime/session_context_writer.h"
#include "core/runtime/session_contexts.h"
#include "core/runtime/session_functions.h"
#include "core/runtime/session_partition.h"
#include "core/runtime/session_source.h"
#include "core/runtime/session_transforms.h"

namespace epiphyte::core {
namespace {

void ReportOverridable(const std::vector<ValueSpec>& inputs) {
  size_t count = 0;
  const ValueSpec* first = nullptr;
  for (const ValueSpec& input : inputs) {
    if (input.default_value == nullptr) continue;
    if (++count == 1) first = &input;
  }
  if (first == nullptr) return;
  Log(LogLevel::kWarning, "session",
      "{} initializers are inputs of the model, too ('{}'{}), so that a run may give them and nothing is compiled for "
      "their values; if none does, set session.constant_initializers=1, or remove them from the model's inputs",
      count, first->name, count == 1 ? "" : ", …");
}

// Adds the model's path to errors about a context or the body of a function, because an application has many models.
template <typename Body>
void NamingModel(const std::filesystem::path& model, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != StatusCode::kInvalidGraph || model.empty()) throw;
    throw error.WithMessage(fmt::format("'{}': {}", PrintableLine(model.string(), 1024), error.message()));
  }
}

}  // namespace

void SessionAttempt::Prepare() {
  // The target is checked before anything expensive, so that a wrong one fails at once.
  if (tools_.config.context.enable) generator_ = share_.MakeGenerator(TargetOf(tools_.config, source_));
  SessionModel read = ReadSessionModel(tools_, source_, source_files_, generator_.get());
  model_ = std::move(read.model);
  ProtectSource(tools_.config, source_, source_files_, generator_.get());
  for (const ValueDef* input : model_.graph->inputs()) inputs_.push_back(ValueSpec::Of(*input));
  ReportOverridable(inputs_);
  if (generator_ == nullptr && HasContextNodes(*model_.graph)) reading_ = std::move(read.lock);
  read.lock.reset();
  MakeProviderSlots();
  tools_.progress.Enter(SessionPhase::kTransform, "functions");
  {
    Profiler::Span span(tools_.profiler, "session", "inline functions");
    NamingModel(source_.path,
                [&] { InlineUnclaimedFunctions(tools_, providers_, &findings_, &model_, &history_); });
    // The bodies of functions may have external data of their own.
    ProtectSource(tools_.config, source_, source_files_, generator_.get());
  }
  Transform();
  for (const ValueDef* output : model_.graph->outputs()) outputs_.push_back(ValueSpec::Of(*output));
}

void SessionAttempt::MakeProviderSlots() {
  ProviderConfig config;
  config.thread_pool = tools_.pool;
  config.context_enabled = generator_ != nullptr;
  config.progress = source_files_.ReleasePagesOn(tools_.progress.MakePluginProgress());
  config.spans = tools_.profiler;
  config.share = share_.membership();
  providers_ = MakeProviders(tools_.chosen_providers.Get(), std::move(config), tools_.environment.devices());
  std::erase_if(providers_, [&](const ProviderSlot& slot) { return findings_.HasFailed(slot.plugin->name); });
  if (generator_ == nullptr) return;
  for (const ProviderSlot& slot : providers_) {
    if (MakesContexts(tools_.config, slot) || tools_.config.providers.empty())
      generator_->set().CheckNames(generator_->target(), slot.plugin->name);
  }
}

void SessionAttempt::Transform() {
  const auto fallback =
      std::find_if(providers_.begin(), providers_.end(), [](const ProviderSlot& slot) { return slot.fallback; });
  RunCoreTransforms(tools_, fallback == providers_.end() ? nullptr : &*fallback, &model_, &history_);
  const auto bind_contexts = [&] {
    contexts_ = ContextBinding(FindContextNodes(*model_.graph), OwnersIn(tools_.environment.catalog()));
  };
  bind_contexts();
  // A context model is the result of such transforms, so it isn't transformed again.
  if (contexts_.empty() && RunTransformsOfApplication(tools_, &model_, &history_)) bind_contexts();
}

// In a share group, the partitions of earlier models are in the same payload, so their names are taken.
PartitionNames SessionAttempt::FreeNames() const {
  PartitionNames names;
  if (generator_ == nullptr) return names;
  for (const std::string& name : generator_->set().partition_names()) names.Take(name);
  return names;
}

std::optional<Restart> SessionAttempt::Partition() {
  tools_.progress.Enter(SessionPhase::kPartition, "");
  NamingModel(source_.path, [&] { PlaceContextNodes(tools_, contexts_, providers_); });
  Profiler::Span span(tools_.profiler, "session", "partition");
  askable_ = AskableProviders(tools_, providers_, contexts_, model_.metadata, &findings_);
  partitions_ = PartitionGraph(*model_.graph, askable_, tools_.config.context.node_name_prefix, FreeNames(),
                               tools_.progress.MakeProgressCallback());
  if (std::optional<Restart> restart = FindUnclaimedCalls()) return restart;
  Placement& placement = partitions_.placement;
  placement.removed = history_.Take();
  std::copy(findings_.provider_errors().begin(), findings_.provider_errors().end(),
            std::back_inserter(placement.warnings));
  LogPlacement(placement, 0);
  return std::nullopt;
}

std::optional<Restart> SessionAttempt::FindUnclaimedCalls() {
  std::vector<UnclaimedCall> more = findings_.unclaimed_calls().FindMore(model_, partitions_.placement, tools_.schemas);
  return more.empty() ? std::nullopt : std::optional<Restart>(std::move(more));
}

void SessionAttempt::Explain() { ExplainPartitions(providers_, &partitions_); }

void SessionAttempt::CheckAllPlaced() const {
  CheckEverythingPlaced(tools_, *model_.graph, inputs_, partitions_.placement, findings_.unclaimed_calls());
}

std::optional<Restart> SessionAttempt::Compile(const std::shared_ptr<DeviceAccount>& devices) {
  CheckAllPlaced();
  NamingModel(source_.path, [&] { LoadContextNodes(); });
  if (std::optional<Restart> restart = CompileAll()) return restart;
  MakePlan(devices);
  if (std::optional<Restart> restart = WriteContext()) return restart;
  source_files_.ReleasePages();
  return std::nullopt;
}

void SessionAttempt::LoadContextNodes() {
  PayloadAccess access;
  access.model = ContextBase(tools_.config, source_);
  access.digests = tools_.config.context.verify_digests ? PayloadAccess::kRecorded : PayloadAccess::kNone;
  access.embedded_verified = source_files_.seal_checked();
  access.store = tools_.config.context_store;
  access.pool = tools_.pool;
  access.group = share_.loading();
  access.on_progress = tools_.progress.MakeProgressCallback();
  const std::vector<ContextBatch> batches =
      OpenContexts(tools_, contexts_, providers_, access, model_.metadata, &payload_files_);
  reading_.reset();
  kernels_ = LoadContexts(tools_, providers_, batches, model_.metadata);
}

// Compiles in the order of asking, so that a declined partition can go to a later provider.
std::optional<Restart> SessionAttempt::CompileAll() {
  for (const int32_t provider : AskingOrder(askable_)) {
    std::vector<const core::Partition*> mine;
    for (const core::Partition& partition : partitions_.partitions) {
      if (!partition.is_context && partition.provider == provider) mine.push_back(&partition);
    }
    if (mine.empty()) continue;
    const ProviderSlot& slot = providers_[static_cast<size_t>(provider)];
    RequireMayCompile(tools_.config, slot, mine.size(), has_context());
    CompileResult compiled = CompilePartitions(tools_, slot, mine);
    if (compiled.error) return std::move(*compiled.error);
    kernels_.merge(compiled.kernels);
    if (compiled.declined.empty()) continue;
    if (std::optional<Restart> restart = OfferDeclined(provider, compiled.declined)) return restart;
  }
  return std::nullopt;
}

std::optional<Restart> SessionAttempt::OfferDeclined(int32_t provider, const std::vector<DeclinedPartition>& declined) {
  const size_t first_warning = partitions_.placement.warnings.size();
  OfferAgain(declined, provider, askable_, tools_.config.context.node_name_prefix, FreeNames(),
             tools_.progress.MakeProgressCallback(), &partitions_);
  if (std::optional<Restart> restart = FindUnclaimedCalls()) return restart;
  LogPlacement(partitions_.placement, first_warning);
  CheckAllPlaced();
  return std::nullopt;
}

void SessionAttempt::MakePlan(const std::shared_ptr<DeviceAccount>& devices) {
  Profiler::Span span(tools_.profiler, "session", "plan");
  const auto kernel_of = [&](const Node& node) {
    const auto found = kernels_.find(&node);
    if (found == kernels_.end()) {
      Fail(StatusCode::kNotImplemented, "node '{}' ({}) has no kernel", node.name(), node.op_type());
    }
    return found->second;
  };
  plan_ = std::make_unique<Plan>(*model_.graph,
                                 PlanTools{kernel_of, tools_.profiler, &tools_.environment.devices(), devices});
}

std::optional<Restart> SessionAttempt::WriteContext() {
  if (generator_ == nullptr) return std::nullopt;
  WrittenContext written = WriteContextModel(tools_, {providers_, partitions_, model_}, *generator_, share_, findings_);
  if (written.error) return std::move(*written.error);
  context_output_ = std::move(written.output);
  return std::nullopt;
}

UsedFiles SessionAttempt::used_files() const {
  UsedFiles all = source_files_.used_files();
  all.Add(payload_files_);
  return all;
}

}  // namespace epiphyte::core
