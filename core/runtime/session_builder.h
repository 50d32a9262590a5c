// Session builder: the steps from a model to a plan, in order: read, inline functions, transform, place contexts,
// partition, compile or load, write the context model, plan.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/abi/provider.h"
#include "core/base/folder_lock.h"
#include "core/base/thread_pool.h"
#include "core/context/context_binding.h"
#include "core/context/context_generator.h"
#include "core/context/share_group.h"
#include "core/graph/graph.h"
#include "core/onnx/model_reader.h"
#include "core/partition/partitioner.h"
#include "core/runtime/environment.h"
#include "core/runtime/plan.h"
#include "core/runtime/profiler.h"
#include "core/runtime/provider_list.h"
#include "core/runtime/session_config.h"
#include "core/runtime/session_memory.h"
#include "core/runtime/session_parts.h"
#include "core/runtime/session_progress.h"
#include "core/runtime/session_schemas.h"
#include "core/runtime/source_files.h"
#include "core/transform/node_history.h"

namespace epiphyte::core {

class SessionBuilder {
 public:
  // `pool` and `profiler` (may be null) must outlive the built parts; `config` must outlive the builder.
  SessionBuilder(Environment& environment, const SessionConfig& config, ThreadPool* pool, Profiler* profiler);
  // If a session can't be built, its compiling share group goes on without it; see share_group.h.
  ~SessionBuilder();
  SessionBuilder(const SessionBuilder&) = delete;
  SessionBuilder& operator=(const SessionBuilder&) = delete;

  void ReadFile(const std::filesystem::path& path);
  void ReadMemory(const void* bytes, size_t size);
  // Runs the steps up to placement.
  void Partition();
  // Runs the remaining steps.
  void Compile();

  std::vector<ValueSpec> InputSpecs() const { return inputs_; }
  std::vector<ValueSpec> OutputSpecs() const { return outputs_; }
  // Asks providers for notes on their nodes, for the placement.
  void Explain();
  Placement TakePlacement() { return std::move(partitions_.placement); }
  bool has_plan() const { return plan_ != nullptr; }
  std::unique_ptr<Plan> TakePlan() { return std::move(plan_); }
  std::optional<ContextOutput> TakeContextOutput() { return std::move(context_output_); }
  // Share group of a session that loads; the session keeps it.
  std::shared_ptr<ShareGroup> TakeShareGroup() { return std::move(loading_group_); }
  bool has_context() const { return !contexts_.empty(); }
  // Memories of the providers' devices, each device's main one first.
  std::vector<SessionMemory> Memories() const;
  // Why the built session can't run here; "" when it can.
  std::string WhyNoRun() const;
  // Throws MODEL_LOAD_CANCELED if the application has cancelled, whatever other error followed from that.
  void ThrowIfCancelled() const { progress_.ThrowIfCancelled(); }
  // Files mapped so far.
  UsedFiles used_files() const;

 private:
  // Error of a provider that the session doesn't list; the session goes on without it.
  struct OptionalProviderError {
    std::string provider;
    std::string reason;
  };
  // Thrown when the session was begun again while it compiled.
  struct Restart {};

  // A function call that no provider runs as a whole, as it was before its body replaced it.
  struct UnclaimedCall {
    std::string body_prefix;
    std::string label;
    std::vector<Decline> declines;
  };

  void Read();
  void Prepare();
  void StartOver();
  void StartOverWithout(const OptionalProviderError& failure);
  void CompileOnce();
  void CallingUnlisted(const ProviderSlot& slot, const std::function<void()>& body) const;
  Capability Ask(const ProviderSlot& slot, Graph& graph);
  bool InlineUnclaimedCalls();
  bool IsKept(const Node& function) const;
  void KeepReasons(const Node& lost_call);
  std::string WhyNobodyRuns(const NodePlacement& node) const;
  void JoinShareGroup();
  ReadOptions MakeReadOptions();
  void MakeContextTarget();
  void ProtectSource();
  void ReportOverridable() const;
  void InlineUnclaimedFunctions();
  std::vector<std::string> ApplicationTransformNames() const;
  void RunTransforms();
  bool RunTransformsOfApplication();
  template <typename Body>
  void NamingModel(Body&& body) const;
  void PlaceContextNodes();
  bool MayHavePlainNodes(const ProviderSlot& slot) const;
  PartitionNames FreeNames() const;
  void CheckEverythingPlaced() const;
  void LoadContexts();
  void CompilePartitions();
  void OfferDeclined(int32_t provider, const std::vector<DeclinedPartition>& declined);
  void ReportPlacement(size_t warnings_told);
  void WriteContextModel();
  std::filesystem::path ContextBase() const;
  bool MakesContexts(const ProviderSlot& slot) const;
  void CheckDeferredProviders() const;
  void AddContexts(const std::vector<bool>& makes, const std::vector<std::string>& deferred_providers,
                   const std::vector<std::vector<const core::Partition*>>& by_provider,
                   const ProgressCallback& on_progress);
  const ProviderSlot* Fallback() const;

  Environment& environment_;
  const SessionConfig& config_;
  ThreadPool* pool_;
  Profiler* profiler_;
  std::shared_ptr<DeviceAccount> device_account_;
  std::shared_ptr<ShareGroup> loading_group_;  // outlives the providers, because their workspace may view its mappings
  std::filesystem::path model_path_;           // empty when the model came from memory
  std::optional<std::span<const std::byte>> memory_;  // bytes of the model; empty when it came from a file
  ProgressReporter progress_;
  SessionSchemas schemas_;
  SourceFiles source_;
  UsedFiles payload_files_;
  Model model_;
  NodeHistory history_;  // history of nodes that are no longer in the model's graph
  std::vector<ProviderSlot> providers_;
  std::vector<ValueSpec> inputs_;
  std::vector<ValueSpec> outputs_;
  ContextBinding contexts_;
  std::vector<PartitionProvider> askable_;  // one entry for each of providers_
  PartitionResult partitions_;
  std::unordered_map<const Node*, std::shared_ptr<Kernel>> kernels_;
  std::unique_ptr<ContextGenerator> generator_;
  std::optional<ContextOutput> context_output_;
  std::unique_ptr<Plan> plan_;

  std::optional<FolderLock> reading_;  // held while model and payloads are opened

  std::shared_ptr<ShareGroups::Compiling> compiling_group_;
  std::unique_lock<std::mutex> turn_;
  std::set<std::string> left_out_;                  // unlisted providers that failed
  std::set<std::string> optional_provider_errors_;  // errors of these providers, for the placement report
  std::set<std::tuple<std::string, std::string, std::string>> lost_functions_;  // see InlineUnclaimedCalls
  std::vector<UnclaimedCall> unclaimed_calls_;
  size_t lost_rounds_ = 0;
  bool joined_ = false;  // the model is in the compiling group's set, or published
  bool spent_ = false;   // a provider began to write payloads that earlier sessions of the group deferred
};

}  // namespace epiphyte::core
