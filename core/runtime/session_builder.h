// SessionBuilder: makes the parts of a session from a model. It makes a SessionAttempt, and another one each time an
// attempt finds out that a provider has to be left out, or a function inlined.
//
//   SessionBuilder builder(environment, config, pool, profiler);
//   builder.Read({.path = "model.onnx"});
//   builder.Partition();
//   builder.Compile();
//   std::unique_ptr<Plan> plan = builder.TakePlan();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/partition/placement.h"
#include "core/runtime/attempt_findings.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/environment.h"
#include "core/runtime/plan.h"
#include "core/runtime/profiler.h"
#include "core/runtime/provider_list.h"
#include "core/runtime/session_attempt.h"
#include "core/runtime/session_config.h"
#include "core/runtime/session_memory.h"
#include "core/runtime/session_parts.h"
#include "core/runtime/session_progress.h"
#include "core/runtime/session_schemas.h"
#include "core/runtime/session_share.h"

namespace epiphyte::core {

class SessionBuilder {
 public:
  // `pool` and `profiler` (may be null) must outlive the built parts; `config` must outlive the builder.
  SessionBuilder(Environment& environment, const SessionConfig& config, ThreadPool* pool, Profiler* profiler);
  // If a session can't be built, its compiling share group goes on without it; see share_group.h.
  ~SessionBuilder();
  SessionBuilder(const SessionBuilder&) = delete;
  SessionBuilder& operator=(const SessionBuilder&) = delete;

  // Call once, before all others. The bytes of a model in memory must outlive the builder.
  void Read(const ModelSource& source);
  // Runs the steps up to placement.
  void Partition();
  // Runs the remaining steps.
  void Compile();

  // After Read.
  const std::vector<ValueSpec>& InputSpecs() const { return attempt_->inputs(); }
  const std::vector<ValueSpec>& OutputSpecs() const { return attempt_->outputs(); }
  // After Partition.
  // Asks providers for notes on their nodes, for the placement.
  void Explain() { attempt_->Explain(); }
  Placement TakePlacement() { return std::move(attempt_->partitions().placement); }
  // After Compile.
  bool has_plan() const { return attempt_ != nullptr && attempt_->plan() != nullptr; }
  std::unique_ptr<Plan> TakePlan() { return std::move(attempt_->plan()); }
  std::optional<ContextOutput> TakeContextOutput() { return std::move(attempt_->context_output()); }
  bool has_context() const { return attempt_->has_context(); }
  // Share group of a session that loads; the session keeps it.
  std::shared_ptr<ShareGroup> TakeShareGroup() { return share_.TakeLoading(); }
  // Memories of the providers' devices, each device's main one first.
  std::vector<SessionMemory> Memories() const;
  // Why the built session can't run here; "" when it can.
  std::string WhyNoRun() const;

  // At any time.
  // Throws MODEL_LOAD_CANCELED if the application has cancelled, whatever other error followed from that.
  void ThrowIfCancelled() const { progress_.ThrowIfCancelled(); }
  // Files mapped so far.
  UsedFiles used_files() const { return attempt_ == nullptr ? UsedFiles() : attempt_->used_files(); }

 private:
  void BeginAgain(Restart restart);

  const SessionConfig& config_;
  std::shared_ptr<DeviceAccount> device_account_;
  ModelSource source_;
  ProgressReporter progress_;
  ChosenProviders chosen_providers_;
  SessionSchemas schemas_;
  SessionShare share_;  // outlives the providers, because their workspace may view the mappings of its group
  BuildTools tools_;
  AttemptFindings findings_;
  std::unique_ptr<SessionAttempt> attempt_;  // null before Read
};

}  // namespace epiphyte::core
