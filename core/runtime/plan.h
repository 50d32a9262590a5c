// Plan: a partitioned graph, ready to run: steps in order, each a kernel or a control-flow node with plans of its own.
//
// A plan is immutable once made; a Frame holds the values of one run. Frames are kept and reused, so a steady run
// allocates nothing but its outputs. Runs with kernels on devices, or with outputs that the application has bound, are
// done by a QueueRun.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/object_pool.h"
#include "core/graph/graph.h"
#include "core/graph/run_state.h"
#include "core/graph/value.h"
#include "core/runtime/control_flow.h"
#include "core/runtime/plan_steps.h"
#include "core/runtime/run_bindings.h"

namespace epiphyte::core {

class QueuePlan;

class Plan {
 public:
  // Makes control-flow nodes from their bodies. The graph is not needed afterwards.
  Plan(const Graph& graph, const PlanTools& tools);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  size_t input_count() const { return tables_.inputs.size(); }
  size_t output_count() const { return tables_.outputs.size(); }
  // Whether inputs may be in device memory. Bodies of control flow, and plans without devices, get them in host memory.
  bool on_devices() const { return on_devices_; }
  // Values of the enclosing graph that this plan reads, in the order in which Run expects them.
  const std::vector<const ValueDef*>& outer_values() const { return outer_values_; }

  // Thread-safe. `outer`: one value for each of outer_values(). Sets every output, in host memory unless `bindings`
  // (may be null) say otherwise. A stop request is checked between steps. When it returns or throws, none of its
  // submitted device work is under way.
  void Run(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs, RunState& run,
           const RunBindings* bindings = nullptr) const;

 private:
  struct Frame {
    std::vector<ValuePtr> slots;
    std::vector<Value*> arguments;  // arguments of the running step
    std::vector<ValuePtr> results;
  };

  std::unique_ptr<Frame> TakeFrame() const;
  void RunStep(const PlanStep& step, Frame& frame, RunState& run) const;
  void RunOnQueues(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs,
                   RunState& run, const RunBindings* bindings) const;

  PlanTables tables_;
  std::vector<const ValueDef*> outer_values_;
  PlanTools tools_;  // kernel_of is empty
  bool on_devices_ = false;
  mutable std::once_flag lanes_made_;
  mutable std::unique_ptr<QueuePlan> queues_;  // made with the plan when a kernel is on a device, else at first need
  mutable ObjectPool<Frame> frames_;
};

}  // namespace epiphyte::core
