#include "core/runtime/session_builder.h"

#include <algorithm>
#include <iterator>
#include <thread>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/context/compatibility.h"
#include "core/context/context_metadata.h"
#include "core/context/context_model.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/annotations.h"

namespace epiphyte::core {
namespace {

// Name for binaries, which are named after the source model: "model_ctx" → "model".
std::string StemOf(const std::filesystem::path& context_model) {
  std::string stem = context_model.stem().string();
  if (stem.size() > 4 && stem.ends_with("_ctx")) stem.resize(stem.size() - 4);
  return stem;
}

}  // namespace

SessionBuilder::SessionBuilder(Environment& environment, const SessionConfig& config, ThreadPool* pool,
                               Profiler* profiler)
    : environment_(environment),
      config_(config),
      pool_(pool),
      profiler_(profiler),
      device_account_(
          std::make_shared<DeviceAccount>(config.max_device_bytes == 0 ? UINT64_MAX : config.max_device_bytes)),
      progress_(config.progress),
      schemas_(environment.catalog(), config) {}

SessionBuilder::~SessionBuilder() {
  if (!compiling_group_) return;
  // Reset while this session has its turn, because it drops payloads that it staged in the group's set.
  generator_.reset();
  compiling_group_->compiler = std::thread::id();
  if (joined_ && !config_.share.stop) return;
  const size_t models = compiling_group_->set == nullptr ? 0 : compiling_group_->set->ModelNames().size();
  if (!joined_ && !spent_ && models != 0) {
    compiling_group_->set->NoteFailure();
    return;
  }
  compiling_group_->ended = true;
  environment_.share_groups().EndCompiling(config_.share.group, compiling_group_);
}

void SessionBuilder::JoinShareGroup() {
  const bool stop = config_.share.stop;
  if (!config_.share.enable) {
    if (stop) {
      Fail(StatusCode::kInvalidArgument,
           "ep.stop_share_ep_contexts is 1 but ep.share_ep_contexts is not; set both for the last session of a group");
    }
    return;
  }
  const std::string& name = config_.share.group;
  if (!config_.context.enable) {
    if (stop) {
      Fail(StatusCode::kInvalidArgument,
           "ep.stop_share_ep_contexts is for sessions that compile (ep.context_enable=1); a group that loads ends with "
           "its last session");
    }
    loading_group_ = environment_.share_groups().ForLoading(name);
    return;
  }
  // Sessions of a group compile one after another. The group may have ended while this one waited.
  for (;;) {
    const auto group = environment_.share_groups().ForCompiling(name);
    if (group->compiler.load() == std::this_thread::get_id()) {
      Fail(StatusCode::kInvalidArgument,
           "a session of share group '{}' was created by a callback of another one that compiles; create it when that "
           "one is ready",
           name);
    }
    std::unique_lock<std::mutex> turn(group->turn);
    if (group->ended) continue;
    group->compiler = std::this_thread::get_id();
    compiling_group_ = group;
    turn_ = std::move(turn);
    return;
  }
}

void SessionBuilder::ReadFile(const std::filesystem::path& path) {
  model_path_ = path;
  progress_.Enter(SessionPhase::kRead, path.filename().string());
  JoinShareGroup();
  MakeContextTarget();
  Read();
  Prepare();
}

void SessionBuilder::ReadMemory(const void* bytes, size_t size) {
  progress_.Enter(SessionPhase::kRead, "a model in memory");
  memory_.emplace(static_cast<const std::byte*>(bytes), size);
  JoinShareGroup();
  MakeContextTarget();
  Read();
  Prepare();
}

void SessionBuilder::Read() {
  Profiler::Span span(profiler_, "session", "read model");
  if (!memory_) {
    reading_.emplace(model_path_.parent_path(), FolderLock::kShared);
    model_ = ReadModelFile(model_path_, MakeReadOptions());
    return;
  }
  if (generator_ == nullptr && !config_.context.file_path.empty())
    reading_.emplace(ContextBase().parent_path(), FolderLock::kShared);
  model_ = ReadModelMemory(memory_->data(), memory_->size(), nullptr, MakeReadOptions());
}

ReadOptions SessionBuilder::MakeReadOptions() {
  // Memory of a node, from its bytes to the first run: measured with a million of the smallest nodes.
  constexpr uint64_t kBytesPerNode = 1700;
  ReadOptions read = source_.MakeReadOptions(config_, model_path_, pool_, progress_.MakeProgressCallback());
  read.schemas = &schemas_;
  read.constant_initializers = config_.constant_initializers;
  if (generator_ != nullptr) {
    read.accept_model = [this, accept = std::move(read.accept_model)](std::string_view bytes,
                                                                      const Metadata& metadata) {
      accept(bytes, metadata);
      generator_->SetAnnotations(std::make_shared<const GraphAnnotations>(ReadAnnotations(bytes)));
    };
  }
  read.max_nodes = config_.max_nodes != 0 ? config_.max_nodes : environment_.memory() / 4 * 3 / kBytesPerNode;
  return read;
}

// Goes back to the model as it was read, but keeps what was learnt since. This is rare, and simpler than undoing the
// changes of transforms, placement and compiling.
void SessionBuilder::StartOver() {
  kernels_.clear();
  plan_.reset();
  partitions_ = {};
  contexts_ = {};
  inputs_.clear();
  outputs_.clear();
  generator_.reset();
  providers_.clear();
  model_ = {};
  history_.Take();
  source_ = {};
  payload_files_ = {};
  progress_.Enter(SessionPhase::kRead, "once more");
  MakeContextTarget();
  Read();
  Prepare();
  Partition();
}

void SessionBuilder::StartOverWithout(const OptionalProviderError& failure) {
  Log(LogLevel::kWarning, "session", "provider '{}' is left out, its nodes go to the next: {}", failure.provider,
      failure.reason);
  left_out_.insert(failure.provider);
  optional_provider_errors_.insert(failure.reason);
  StartOver();
}

// A provider's error is the session's error if the provider is listed or the fallback. Otherwise it is reported, and
// the session goes on without the provider.
void SessionBuilder::CallingUnlisted(const ProviderSlot& slot, const std::function<void()>& body) const {
  try {
    body();
  } catch (const Error& error) {
    progress_.ThrowIfCancelled();
    if (slot.listed || slot.fallback || error.code() == StatusCode::kModelLoadCanceled) throw;
    throw OptionalProviderError{slot.plugin->name, error.message()};
  }
}

Capability SessionBuilder::Ask(const ProviderSlot& slot, Graph& graph) {
  progress_.Report(0, 0, slot.plugin->name);
  Capability capability;
  try {
    CallingUnlisted(slot, [&] { capability = slot.provider->GetCapability(graph); });
  } catch (const OptionalProviderError& failure) {
    optional_provider_errors_.insert(failure.reason);
  }
  return capability;
}

// Base of relative paths in EPContext nodes.
std::filesystem::path SessionBuilder::ContextBase() const {
  return model_path_.empty() ? config_.context.file_path : model_path_;
}

// Called before anything expensive, so that a wrong target fails at once.
void SessionBuilder::MakeContextTarget() {
  if (!config_.context.enable) return;
  ContextTarget target;
  target.model = config_.context.file_path;
  if (target.model.empty() && !model_path_.empty()) {
    target.model = model_path_.parent_path() / (model_path_.stem().string() + "_ctx.onnx");
  }
  target.binary_stem = StemOf(target.model);
  target.source_model_name = model_path_.filename().string();
  target.external_initializers = config_.context.external_initializers;
  target.node_name_prefix = config_.context.node_name_prefix;
  target.embed = config_.context.embed;
  target.overwrite = config_.context.overwrite;
  target.store = config_.context_store;
  if (!model_path_.empty()) target.source_files = {model_path_};
  target.RefuseSourceFile(target.model);
  if (compiling_group_ && compiling_group_->set && compiling_group_->set->IsBegunAnewBy(target)) {
    Log(LogLevel::kWarning, "context",
        "share group '{}' starts again: an earlier session failed after it had compiled '{}'", config_.share.group,
        target.model.filename().string());
    compiling_group_->set.reset();
    compiling_group_->group = std::make_shared<ShareGroup>(config_.share.group);
  }
  generator_ = compiling_group_ ? std::make_unique<ContextGenerator>(std::move(target), &compiling_group_->set)
                                : std::make_unique<ContextGenerator>(std::move(target));
}

// Called after reading, when the model's files of external data are known.
void SessionBuilder::ProtectSource() {
  if (generator_ == nullptr) return;
  std::vector<std::filesystem::path> files;
  if (!model_path_.empty()) files.push_back(model_path_);
  std::filesystem::path folder = config_.external_data_folder;
  if (folder.empty()) folder = model_path_.parent_path();
  for (const std::string& name : source_.external_files()) files.push_back(folder / name);
  generator_->SetSourceFiles(std::move(files), source_.used_files());
}

void SessionBuilder::Prepare() {
  ProtectSource();
  for (const ValueDef* input : model_.graph->inputs()) inputs_.push_back(ValueSpec::Of(*input));
  ReportOverridable();
  if (generator_ != nullptr || !HasContextNodes(*model_.graph)) reading_.reset();
  ShareMembership share;
  if (compiling_group_) {
    share = {compiling_group_->group->workspaces(), true, config_.share.stop};
  } else if (loading_group_) {
    share = {loading_group_->workspaces(), false, false};
  }
  providers_ =
      MakeProviders(environment_.catalog(), config_, pool_, generator_ != nullptr, share,
                    source_.ReleasePagesOn(progress_.MakePluginProgress()), profiler_, &environment_.devices());
  std::erase_if(providers_, [&](const ProviderSlot& slot) { return left_out_.contains(slot.plugin->name); });
  for (const ProviderSlot& slot : providers_) {
    if (generator_ != nullptr && (MakesContexts(slot) || config_.providers.empty()))
      generator_->set().CheckNames(generator_->target(), slot.plugin->name);
  }
  progress_.Enter(SessionPhase::kTransform, "functions");
  {
    Profiler::Span span(profiler_, "session", "inline functions");
    InlineUnclaimedFunctions();
    ProtectSource();  // the bodies of functions may have external data of their own
  }
  RunTransforms();
  const auto bind_contexts = [&] {
    contexts_ = ContextBinding(FindContextNodes(*model_.graph), OwnersIn(environment_.catalog()));
  };
  bind_contexts();
  // A context model is the result of such transforms, so it isn't transformed again.
  if (contexts_.empty() && RunTransformsOfApplication()) bind_contexts();
  for (const ValueDef* output : model_.graph->outputs()) outputs_.push_back(ValueSpec::Of(*output));
}

void SessionBuilder::ReportOverridable() const {
  size_t count = 0;
  const ValueSpec* first = nullptr;
  for (const ValueSpec& input : inputs_) {
    if (input.default_value == nullptr) continue;
    if (++count == 1) first = &input;
  }
  if (first == nullptr) return;
  Log(LogLevel::kWarning, "session",
      "{} initializers are inputs of the model, too ('{}'{}), so that a run may give them and nothing is compiled for "
      "their values; if none does, set session.constant_initializers=1, or remove them from the model's inputs",
      count, first->name, count == 1 ? "" : ", …");
}

UsedFiles SessionBuilder::used_files() const {
  UsedFiles all = source_.used_files();
  all.Add(payload_files_);
  return all;
}

const ProviderSlot* SessionBuilder::Fallback() const {
  auto found =
      std::find_if(providers_.begin(), providers_.end(), [](const ProviderSlot& slot) { return slot.fallback; });
  return found == providers_.end() ? nullptr : &*found;
}

// Adds the model's path to errors about a context, because an application has many models.
template <typename Body>
void SessionBuilder::NamingModel(Body&& body) const {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != StatusCode::kInvalidGraph || model_path_.empty()) throw;
    throw error.WithMessage(fmt::format("'{}': {}", PrintableLine(model_path_.string(), 1024), error.message()));
  }
}

void SessionBuilder::PlaceContextNodes() {
  for (const BoundNode& bound : contexts_.nodes()) {
    Node* const node = bound.node;
    if (generator_ != nullptr) {
      Fail(StatusCode::kInvalidGraph,
           "the model is a context model already: {}; give the source model to ep.context_enable",
           ContextNodeLabel(*node));
    }
    if (!bound.readable) Fail(StatusCode::kInvalidGraph, "{}", bound.problem);
    const std::string& owner = bound.owner;
    if (owner.empty()) {
      FailHinting(Hint::kListPlugins, StatusCode::kInvalidGraph, "{}, or run the source model instead",
                  UnownedSourceMessage(*node, bound.attributes.source, environment_.catalog()));
    }
    auto slot = std::find_if(providers_.begin(), providers_.end(),
                             [&](const ProviderSlot& candidate) { return candidate.plugin->name == owner; });
    if (slot == providers_.end()) {
      if (config_.providers.empty()) {
        Catalog& catalog = environment_.catalog();
        const ProviderSetup setup = SetUpProvider(catalog, catalog.Load(owner), RequestOf(config_));
        if (!setup.left_out.empty()) Fail(StatusCode::kInvalidGraph, "{}: {}", ContextNodeLabel(*node), setup.left_out);
      }
      std::vector<std::string> names;
      for (const ProviderSlot& used : providers_) names.push_back(used.plugin->name);
      Fail(StatusCode::kInvalidGraph,
           "{}: its source belongs to provider '{}', and that is not in the session's list ({}); add it",
           ContextNodeLabel(*node), owner, fmt::join(names, ", "));
    }
    node->provider = static_cast<int32_t>(slot - providers_.begin());
  }
}

// A context model keeps the placement of its compilation: its plain nodes go to the providers that had them then, and
// to the fallback. A model that doesn't name these providers comes from another tool. There, by the specification,
// providers with contexts take only EPContext nodes. Other providers get only nodes that would have no provider at all.
bool SessionBuilder::MayHavePlainNodes(const ProviderSlot& slot) const {
  if (contexts_.empty() || slot.fallback) return true;
  if (const auto recorded = ReadPlainProviders(model_.metadata)) {
    return std::find(recorded->begin(), recorded->end(), slot.plugin->name) != recorded->end();
  }
  return !slot.provider->SupportsContexts() && !config_.disable_compile;
}

// In a share group, the partitions of earlier models are in the same payload, so their names are taken.
PartitionNames SessionBuilder::FreeNames() const {
  PartitionNames names;
  if (generator_ == nullptr) return names;
  for (const std::string& name : generator_->set().partition_names()) names.Take(name);
  return names;
}

void SessionBuilder::Partition() {
  progress_.Enter(SessionPhase::kPartition, "");
  NamingModel([&] { PlaceContextNodes(); });
  Profiler::Span span(profiler_, "session", "partition");
  askable_.clear();
  for (const ProviderSlot& slot : providers_) {
    askable_.push_back(
        {slot.plugin->name, slot.DeviceNames(), [this, &slot](Graph& graph) { return Ask(slot, graph); }});
    askable_.back().last_resort = !MayHavePlainNodes(slot);
  }
  partitions_ = PartitionGraph(*model_.graph, askable_, config_.context.node_name_prefix, FreeNames(),
                               progress_.MakeProgressCallback());
  if (InlineUnclaimedCalls()) return;
  partitions_.placement.removed = history_.Take();
  std::copy(optional_provider_errors_.begin(), optional_provider_errors_.end(),
            std::back_inserter(partitions_.placement.warnings));
  ReportPlacement(0);
}

void SessionBuilder::Explain() {
  for (size_t i = 0; i < providers_.size(); ++i) {
    std::vector<const core::Partition*> mine;
    for (const core::Partition& partition : partitions_.partitions) {
      if (partition.is_context || partition.provider != static_cast<int32_t>(i)) continue;
      partition.graph->Finalize();
      mine.push_back(&partition);
    }
    if (mine.empty()) continue;
    try {
      const std::vector<NodeNote> notes = providers_[i].provider->Explain(mine);
      AddNotes(notes, &partitions_);
    } catch (const Error& error) {
      partitions_.placement.warnings.push_back(error.message());
    }
  }
}

// Logs the placement; of its warnings only those that are not logged yet.
void SessionBuilder::ReportPlacement(size_t warnings_told) {
  const Placement& placement = partitions_.placement;
  for (size_t i = warnings_told; i < placement.warnings.size(); ++i) {
    Log(LogLevel::kWarning, "placement", "{}", placement.warnings[i]);
  }
  Log(LogLevel::kInfo, "placement", "{}", placement.Summary());
}

std::string SessionBuilder::WhyNobodyRuns(const NodePlacement& node) const {
  std::string reasons;
  const auto add = [&](std::string_view text) { reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", text); };
  for (const Decline& decline : node.declines) add(fmt::format("{}: {}", decline.provider, decline.reason));
  const std::string unknown = schemas_.WhyUnknown(node.domain, node.op_type, model_.graph->Opset(node.domain));
  if (!unknown.empty()) add(unknown);
  const bool overridable = std::any_of(inputs_.begin(), inputs_.end(),
                                       [](const ValueSpec& input) { return input.default_value != nullptr; });
  if (overridable && !config_.constant_initializers)
    add("some initializers are inputs, too, and so no constants; session.constant_initializers=1 makes them constants");
  if (reasons.empty()) reasons = "none claimed it";
  for (const UnclaimedCall& call : unclaimed_calls_) {
    if (!node.name.starts_with(call.body_prefix)) continue;
    add(fmt::format("it belongs to the body of {}, which no provider claimed whole", call.label));
    for (const Decline& decline : call.declines) add(fmt::format("{}: {}", decline.provider, decline.reason));
  }
  return reasons;
}

void SessionBuilder::CheckEverythingPlaced() const {
  size_t homeless = 0;
  const NodePlacement* first = nullptr;
  for (const NodePlacement& node : partitions_.placement.nodes) {
    if (!node.provider.empty() || node.is_run_by_host) continue;
    if (++homeless == 1) first = &node;
  }
  if (first == nullptr) return;
  std::string more = homeless == 1 ? "" : fmt::format(" (and {} more nodes)", homeless - 1);
  FailHinting(Hint::kShowPlacement, StatusCode::kNotImplemented, "no provider runs operator {}{}{} of node '{}'{}: {}",
              first->domain, first->domain.empty() ? "" : ".", first->op_type, first->name, more,
              WhyNobodyRuns(*first));
}

void SessionBuilder::Compile() {
  // The loop ends: each round leaves out one more provider, or inlines one more function.
  for (;;) {
    try {
      return CompileOnce();
    } catch (const OptionalProviderError& failure) {
      StartOverWithout(failure);
    } catch (const Restart&) {
      continue;
    }
  }
}

void SessionBuilder::CompileOnce() {
  CheckEverythingPlaced();
  NamingModel([&] { LoadContexts(); });
  CompilePartitions();
  {
    Profiler::Span span(profiler_, "session", "plan");
    plan_ = std::make_unique<Plan>(*model_.graph, PlanTools{[&](const Node& node) {
                                                              auto found = kernels_.find(&node);
                                                              if (found == kernels_.end()) {
                                                                Fail(StatusCode::kNotImplemented,
                                                                     "node '{}' ({}) has no kernel", node.name(),
                                                                     node.op_type());
                                                              }
                                                              return found->second;
                                                            },
                                                            profiler_, &environment_.devices(), device_account_});
  }
  if (generator_ != nullptr) WriteContextModel();
  source_.ReleasePages();
}

// Compiles in the order of asking, so that a declined partition can go to a later provider.
void SessionBuilder::CompilePartitions() {
  for (const int32_t provider : AskingOrder(askable_)) {
    std::vector<const core::Partition*> mine;
    for (const core::Partition& partition : partitions_.partitions) {
      if (!partition.is_context && partition.provider == provider) mine.push_back(&partition);
    }
    if (mine.empty()) continue;
    ProviderSlot& slot = providers_[static_cast<size_t>(provider)];
    // The fallback runs the plain nodes of a context model; if listed, it compiles a source model as the others do.
    const bool compiles = !slot.fallback || (slot.listed && contexts_.empty());
    if (compiles && config_.disable_compile) {
      Fail(StatusCode::kModelRequiresCompilation,
           "provider '{}' would have to compile {} partitions, and session.disable_model_compile is 1; {}",
           slot.plugin->name, mine.size(),
           !contexts_.empty()
               ? "no other provider of the session runs these plain nodes; set the option to 0, or add a provider "
                 "that runs them without compiling"
               : "load a context model instead");
    }
    Profiler::Span span(profiler_, "session", "compile");
    progress_.Enter(SessionPhase::kCompile, slot.plugin->name);
    CompiledPartitions compiled;
    CallingUnlisted(slot, [&] { compiled = slot.provider->Compile(mine); });
    std::vector<DeclinedPartition> declined;
    for (size_t k = 0; k < mine.size(); ++k) {
      if (compiled.kernels[k] != nullptr) {
        kernels_[mine[k]->node] = std::move(compiled.kernels[k]);
      } else {
        declined.push_back({mine[k]->node, std::move(compiled.declined[k])});
      }
    }
    progress_.ThrowIfCancelled();  // a plugin need not react to a cancellation
    if (!declined.empty()) OfferDeclined(provider, declined);
  }
}

void SessionBuilder::OfferDeclined(int32_t provider, const std::vector<DeclinedPartition>& declined) {
  for (const DeclinedPartition& one : declined) {
    Log(LogLevel::kInfo, "placement", "provider '{}' declined partition '{}' while compiling: {}",
        providers_[static_cast<size_t>(provider)].plugin->name, one.node->name(), one.reason);
  }
  const size_t warnings_told = partitions_.placement.warnings.size();
  OfferAgain(declined, provider, askable_, config_.context.node_name_prefix, FreeNames(),
             progress_.MakeProgressCallback(), &partitions_);
  if (InlineUnclaimedCalls()) throw Restart();
  ReportPlacement(warnings_told);
  CheckEverythingPlaced();
}

std::vector<SessionMemory> SessionBuilder::Memories() const {
  std::vector<SessionMemory> memories;
  for (const ProviderSlot& slot : providers_) {
    for (const PluginDevice* device : slot.with_memory) {
      memories.push_back({device->main_memory(), device_account_});
      for (const auto& memory : device->memories()) {
        if (memory != device->main_memory()) memories.push_back({memory, device_account_});
      }
    }
  }
  return memories;
}

std::string SessionBuilder::WhyNoRun() const {
  for (const core::Partition& partition : partitions_.partitions) {
    const ProviderSlot& slot = providers_[static_cast<size_t>(partition.provider)];
    if (const Device* absent = slot.AbsentDevice()) {
      return fmt::format(
          "partition '{}' was compiled by '{}' for device '{}', which is not here; run the context model "
          "where the device is",
          partition.name, slot.plugin->name, absent->name);
    }
  }
  return {};
}

}  // namespace epiphyte::core
