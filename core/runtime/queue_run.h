// DeviceQueue run: one run of a plan whose kernels are on devices, or whose outputs the application has bound.
//
// Steps are gone through in the plan's order. One on a device is submitted and done later; one on the host waits for
// what it reads. Before each, what it can't read where it is is copied, all of it at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/run_state.h"
#include "core/runtime/bound_outputs.h"
#include "core/runtime/device_queues.h"
#include "core/runtime/queue_frame.h"
#include "core/runtime/queue_plan.h"
#include "core/runtime/run_bindings.h"

namespace epiphyte::core {

class QueueRun {
 public:
  // `bindings`: null for none. All of them outlive it.
  QueueRun(const QueuePlan& plan, QueueFrame& frame, RunState& run, const RunBindings* bindings);

  // Afterwards nothing that was submitted is under way any more, also when it throws: then the frame is of no more use.
  void Run(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs);

 private:
  class StepOutputs;

  void RunSteps(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs);
  void RunStep(size_t index);
  void RunOnHost(size_t index);
  void RunOnQueue(size_t index, uint32_t queue);
  void BringInputs(size_t index, uint32_t queue);
  TrackedValue* BringInput(size_t index, uint32_t queue, size_t input, std::vector<EpCopy>* batch);
  uint64_t BindingOf(size_t index, uint32_t queue);
  void TakeResults(size_t index, uint32_t queue);
  void Finish(std::span<ValuePtr> outputs);
  void NoteLosses();

  const QueuePlan& plan_;
  const PlanTables& tables_;
  QueueFrame& frame_;
  RunState& run_;
  const RunBindings* bindings_;
  DeviceQueues queues_;
  BoundOutputs bound_;
  uint32_t running_queue_ = kHostQueue;
};

}  // namespace epiphyte::core
