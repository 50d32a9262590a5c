// Plan: a partitioned graph, ready to run: steps in order, each a kernel or a control-flow node with plans of its own.
//
// A plan is immutable after Build; a Frame holds the values of one run. Frames are kept and reused, so a steady run
// allocates nothing but its outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/graph/graph.h"
#include "core/graph/run_state.h"
#include "core/graph/value.h"
#include "core/runtime/control_flow.h"
#include "core/runtime/profiler.h"

namespace epiphyte::core {

class Plan {
 public:
  // Control-flow nodes are built from their bodies. The graph is not needed afterwards.
  Plan(const Graph& graph, const KernelOf& kernel_of, Profiler* profiler);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  size_t input_count() const { return input_slots_.size(); }
  size_t output_count() const { return output_slots_.size(); }
  // Outer-scope values this plan reads, as values of the enclosing graph, in the order in which Run wants them.
  const std::vector<const ValueDef*>& outer_values() const { return outer_values_; }

  // Thread-safe. `outer`: one value for each of outer_values(). Every output is set. Between steps it is looked at
  // whether the run is to go on.
  void Run(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs,
           RunState& run) const;

 private:
  struct Step {
    std::shared_ptr<Kernel> kernel;             // or
    std::unique_ptr<ControlFlow> control_flow;  // one of the two
    std::string name;
    uint32_t first_input = 0;  // into step_slots_
    uint32_t input_count = 0;
    uint32_t first_output = 0;
    uint32_t output_count = 0;
    uint32_t first_release = 0;  // slots whose last use this step is
    uint32_t release_count = 0;
  };
  struct Frame {
    std::vector<ValuePtr> slots;
    std::vector<Value*> arguments;  // of the running step
    std::vector<ValuePtr> results;
  };

  std::unique_ptr<Frame> TakeFrame() const;
  void GiveFrame(std::unique_ptr<Frame> frame) const;
  void RunStep(const Step& step, Frame& frame, RunState& run) const;

  static constexpr uint32_t kNoSlot = UINT32_MAX;

  std::vector<Step> steps_;
  std::vector<uint32_t> step_slots_;
  std::vector<uint32_t> input_slots_;
  std::vector<uint32_t> outer_slots_;
  std::vector<uint32_t> output_slots_;
  std::vector<std::pair<uint32_t, ValuePtr>> constants_;
  std::vector<const ValueDef*> outer_values_;
  uint32_t slot_count_ = 0;
  uint32_t widest_step_ = 0;
  uint32_t widest_result_ = 0;
  Profiler* profiler_;
  mutable std::mutex frames_mutex_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace epiphyte::core
