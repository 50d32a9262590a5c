// SessionAttempt: one try to make a session, from the model's bytes to a plan. It runs the stages in order and keeps
// their results. A try that can't go on returns a Restart; the next try is a new SessionAttempt, so that nothing is
// left over of the one before.
//
//   SessionAttempt attempt(tools, source, &share, &findings);
//   attempt.Prepare();
//   if (auto restart = attempt.Partition()) …
//   if (auto restart = attempt.Compile()) …
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/folder_lock.h"
#include "core/base/mapped_file.h"
#include "core/context/context_binding.h"
#include "core/context/context_generator.h"
#include "core/graph/graph.h"
#include "core/partition/partitioner.h"
#include "core/runtime/attempt_findings.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/plan.h"
#include "core/runtime/provider_list.h"
#include "core/runtime/session_parts.h"
#include "core/runtime/session_share.h"
#include "core/runtime/source_files.h"
#include "core/transform/node_history.h"

namespace epiphyte::core {

class SessionAttempt {
 public:
  // All arguments must outlive this object. Errors of optional providers that the attempt goes on with are added to the
  // findings.
  SessionAttempt(const BuildTools& tools, const ModelSource& source, SessionShare* share, AttemptFindings* findings)
      : tools_(tools), source_(source), share_(*share), findings_(*findings) {}
  SessionAttempt(const SessionAttempt&) = delete;
  SessionAttempt& operator=(const SessionAttempt&) = delete;

  // Reads the model, makes the providers, inlines functions and transforms the graph.
  void Prepare();
  // Gives each node to a provider.
  std::optional<Restart> Partition();
  // Asks providers for notes on their nodes, for the placement.
  void Explain();
  // Loads contexts, compiles, plans, and writes the context model. `devices`: account of the session's device memory.
  std::optional<Restart> Compile(const std::shared_ptr<DeviceAccount>& devices);

  // Results. Those of a stage that failed, or wasn't reached, are empty.
  const std::vector<ValueSpec>& inputs() const { return inputs_; }
  const std::vector<ValueSpec>& outputs() const { return outputs_; }
  const std::vector<ProviderSlot>& providers() const { return providers_; }
  PartitionResult& partitions() { return partitions_; }
  const PartitionResult& partitions() const { return partitions_; }
  std::unique_ptr<Plan>& plan() { return plan_; }
  std::optional<ContextOutput>& context_output() { return context_output_; }
  bool has_context() const { return !contexts_.empty(); }
  // Files mapped so far.
  UsedFiles used_files() const;
  // Drops what was staged of a context model that isn't published.
  void DropContextModel() { generator_.reset(); }

 private:
  void MakeProviderSlots();
  void Transform();
  PartitionNames FreeNames() const;
  std::optional<Restart> FindUnclaimedCalls();
  void CheckAllPlaced() const;
  void LoadContextNodes();
  std::optional<Restart> CompileAll();
  std::optional<Restart> OfferDeclined(int32_t provider, const std::vector<DeclinedPartition>& declined);
  void MakePlan(const std::shared_ptr<DeviceAccount>& devices);
  std::optional<Restart> WriteContext();

  const BuildTools& tools_;
  const ModelSource& source_;
  SessionShare& share_;
  AttemptFindings& findings_;

  // In the order of the stages. Destroyed in the reverse order: kernels before their providers, and providers before
  // the model's files.
  SourceFiles source_files_;
  UsedFiles payload_files_;
  NodeHistory history_;  // history of nodes that are no longer in the model's graph
  Model model_;
  std::vector<ProviderSlot> providers_;
  std::unique_ptr<ContextGenerator> generator_;  // null: no context model is written
  std::unique_ptr<FolderLock> reading_;          // held while model and payloads are opened
  std::vector<ValueSpec> inputs_;
  std::vector<ValueSpec> outputs_;
  ContextBinding contexts_;
  std::vector<PartitionProvider> askable_;  // one entry for each of providers_
  PartitionResult partitions_;
  std::unique_ptr<Plan> plan_;
  KernelsOfNodes kernels_;
  std::optional<ContextOutput> context_output_;
};

}  // namespace epiphyte::core
