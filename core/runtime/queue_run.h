// QueueRun: one run of a plan with kernels on devices, or with outputs that the application has bound.
//
// Steps are processed in the plan's order. A step on a device is submitted and done later; a step on the host waits for
// its inputs. Before each step, all inputs that it can't read in their place are copied in one batch.
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
  // `bindings`: null for none. All arguments must outlive it.
  QueueRun(const QueuePlan& plan, QueueFrame& frame, RunState& run, const RunBindings* bindings);

  // Afterwards no submitted work is under way, even if it throws; the frame can't be reused then.
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
