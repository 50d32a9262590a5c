#include "core/runtime/plan.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/runtime/queue_plan.h"
#include "core/runtime/queue_run.h"
#include "core/runtime/step_order.h"

namespace epiphyte::core {

Plan::Plan(const Graph& graph, const PlanTools& tools) : tools_(tools) {
  tools_.kernel_of = nullptr;
  std::unordered_map<const ValueDef*, uint32_t> slots;
  auto slot_of = [&](const ValueDef* value) {
    if (value == nullptr) return kNoSlot;
    auto [found, is_new] = slots.try_emplace(value, tables_.slot_count);
    if (is_new) {
      ++tables_.slot_count;
      if (value->IsConstant()) tables_.constants.emplace_back(found->second, Value::FromConstant(value->constant()));
      if (value->IsOuterScope()) {
        outer_values_.push_back(value->outer());
        tables_.outer.push_back(found->second);
      }
    }
    return found->second;
  };
  for (const ValueDef* input : graph.inputs()) tables_.inputs.push_back(slot_of(input));

  std::vector<Node*> order = graph.TopologicalOrder();
  tables_.steps.reserve(order.size());
  for (const Node* node : order) {
    PlanStep step;
    step.name = node->name().empty() ? node->op_type() : node->name();
    step.first_input = static_cast<uint32_t>(tables_.slots.size());
    for (const ValueDef* input : node->inputs()) tables_.slots.push_back(slot_of(input));
    if (ControlFlow::Handles(*node) && node->provider == kUnplaced) {
      step.control_flow = ControlFlow::Create(*node, tools);
      for (const ValueDef* outer : step.control_flow->outer_values()) tables_.slots.push_back(slot_of(outer));
    } else {
      step.kernel = tools.kernel_of(*node);
    }
    step.input_count = static_cast<uint32_t>(tables_.slots.size()) - step.first_input;
    step.first_output = static_cast<uint32_t>(tables_.slots.size());
    for (const ValueDef* output : node->outputs()) tables_.slots.push_back(slot_of(output));
    step.output_count = static_cast<uint32_t>(node->outputs().size());
    tables_.widest_input = std::max(tables_.widest_input, step.input_count);
    tables_.widest_output = std::max(tables_.widest_output, step.output_count);
    on_devices_ = on_devices_ || step.on_device();
    tables_.steps.push_back(std::move(step));
  }
  for (const ValueDef* output : graph.outputs()) {
    tables_.outputs.push_back(slot_of(output));
    tables_.output_names.push_back(output->name());
  }
  if (on_devices_) SubmitEarly(&tables_);

  // Slots are released after their last use, except for outputs and for constants, which stay in the frame.
  std::vector<bool> kept(tables_.slot_count, false);
  for (const auto& constant : tables_.constants) kept[constant.first] = true;
  for (uint32_t slot : tables_.outputs) kept[slot] = true;
  for (auto step = tables_.steps.rbegin(); step != tables_.steps.rend(); ++step) {
    step->first_release = static_cast<uint32_t>(tables_.slots.size());
    const auto release = [&](uint32_t slot) {
      if (slot == kNoSlot || kept[slot]) return;
      kept[slot] = true;
      tables_.slots.push_back(slot);
    };
    for (uint32_t i = 0; i < step->input_count; ++i) release(tables_.slots[step->first_input + i]);
    for (uint32_t i = 0; i < step->output_count; ++i) release(tables_.slots[step->first_output + i]);
    step->release_count = static_cast<uint32_t>(tables_.slots.size()) - step->first_release;
  }
  if (on_devices_) std::call_once(lanes_made_, [this] { queues_ = std::make_unique<QueuePlan>(tables_, tools_); });
}

Plan::~Plan() = default;

std::unique_ptr<Plan::Frame> Plan::TakeFrame() const {
  if (std::unique_ptr<Frame> frame = frames_.Acquire()) return frame;
  auto frame = std::make_unique<Frame>();
  frame->slots.resize(tables_.slot_count);
  frame->arguments.resize(tables_.widest_input);
  frame->results.resize(tables_.widest_output);
  for (const auto& [slot, value] : tables_.constants) frame->slots[slot] = value;
  return frame;
}

void Plan::RunStep(const PlanStep& step, Frame& frame, RunState& run) const {
  run.CheckStop();
  Profiler::Span span(tools_.profiler, step.kernel ? "partition" : "control flow", step.name, run.tag());
  const uint32_t* slots = tables_.slots.data() + step.first_input;
  for (uint32_t i = 0; i < step.input_count; ++i) {
    frame.arguments[i] = slots[i] == kNoSlot ? nullptr : frame.slots[slots[i]].get();
  }
  std::span<Value* const> inputs(frame.arguments.data(), step.input_count);
  std::span<ValuePtr> results(frame.results.data(), step.output_count);
  if (step.kernel) {
    step.kernel->Execute(inputs, results, &run);
  } else {
    step.control_flow->Run(inputs, results, run);
  }
  const uint32_t* outputs = tables_.slots.data() + step.first_output;
  for (uint32_t i = 0; i < step.output_count; ++i) {
    if (outputs[i] != kNoSlot) {
      frame.slots[outputs[i]] = std::move(results[i]);
    } else {
      run.Drop(results[i]);
    }
  }
  const uint32_t* releases = tables_.slots.data() + step.first_release;
  for (uint32_t i = 0; i < step.release_count; ++i) run.Drop(frame.slots[releases[i]]);
}

void Plan::Run(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs,
               RunState& run, const RunBindings* bindings) const {
  if (on_devices_ || bindings != nullptr) [[unlikely]]
    return RunOnQueues(inputs, outer, outputs, run, bindings);
  std::unique_ptr<Frame> frame = TakeFrame();
  for (size_t i = 0; i < inputs.size(); ++i) frame->slots[tables_.inputs[i]] = ValuePtr::Share(inputs[i]);
  for (size_t i = 0; i < outer.size(); ++i) frame->slots[tables_.outer[i]] = ValuePtr::Share(outer[i]);
  // A frame that saw a failure is dropped, because its values are of no further use.
  for (const PlanStep& step : tables_.steps) RunStep(step, *frame, run);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = frame->slots[tables_.outputs[i]];
  for (uint32_t slot : tables_.inputs) frame->slots[slot] = nullptr;
  for (uint32_t slot : tables_.outer) frame->slots[slot] = nullptr;
  for (uint32_t slot : tables_.outputs) frame->slots[slot] = nullptr;
  for (const auto& [slot, value] : tables_.constants) {
    if (!frame->slots[slot]) frame->slots[slot] = value;
  }
  frames_.Release(std::move(frame));
}

void Plan::RunOnQueues(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs,
                       RunState& run, const RunBindings* bindings) const {
  std::call_once(lanes_made_, [this] { queues_ = std::make_unique<QueuePlan>(tables_, tools_); });
  std::unique_ptr<QueueFrame> frame = queues_->TakeFrame();
  QueueRun(*queues_, *frame, run, bindings).Run(inputs, outer, outputs);
  queues_->GiveFrame(std::move(frame));
}

}  // namespace epiphyte::core
