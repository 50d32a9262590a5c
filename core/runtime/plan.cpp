#include "core/runtime/plan.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"

namespace epiphyte::core {

Plan::Plan(const Graph& graph, const KernelOf& kernel_of, Profiler* profiler) : profiler_(profiler) {
  std::unordered_map<const ValueDef*, uint32_t> slots;
  auto slot_of = [&](const ValueDef* value) {
    if (value == nullptr) return kNoSlot;
    auto [found, is_new] = slots.try_emplace(value, slot_count_);
    if (is_new) {
      ++slot_count_;
      if (value->IsConstant()) constants_.emplace_back(found->second, Value::FromConstant(value->constant()));
      if (value->IsOuterScope()) {
        outer_values_.push_back(value->outer());
        outer_slots_.push_back(found->second);
      }
    }
    return found->second;
  };
  for (const ValueDef* input : graph.inputs()) input_slots_.push_back(slot_of(input));

  std::vector<Node*> order = graph.TopologicalOrder();
  steps_.reserve(order.size());
  for (const Node* node : order) {
    Step step;
    step.name = node->name().empty() ? node->op_type() : node->name();
    step.first_input = static_cast<uint32_t>(step_slots_.size());
    for (const ValueDef* input : node->inputs()) step_slots_.push_back(slot_of(input));
    if (ControlFlow::Handles(*node) && node->provider == kUnplaced) {
      step.control_flow = ControlFlow::Create(*node, kernel_of, profiler);
      for (const ValueDef* outer : step.control_flow->outer_values()) step_slots_.push_back(slot_of(outer));
    } else {
      step.kernel = kernel_of(*node);
    }
    step.input_count = static_cast<uint32_t>(step_slots_.size()) - step.first_input;
    step.first_output = static_cast<uint32_t>(step_slots_.size());
    for (const ValueDef* output : node->outputs()) step_slots_.push_back(slot_of(output));
    step.output_count = static_cast<uint32_t>(node->outputs().size());
    widest_step_ = std::max(widest_step_, step.input_count);
    widest_result_ = std::max(widest_result_, step.output_count);
    steps_.push_back(std::move(step));
  }
  for (const ValueDef* output : graph.outputs()) output_slots_.push_back(slot_of(output));

  // Slots are released after their last use, except constants, which stay in the frame, and outputs.
  std::vector<bool> kept(slot_count_, false);
  for (const auto& constant : constants_) kept[constant.first] = true;
  for (uint32_t slot : output_slots_) kept[slot] = true;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    step->first_release = static_cast<uint32_t>(step_slots_.size());
    for (uint32_t i = 0; i < step->input_count + step->output_count; ++i) {
      uint32_t slot = step_slots_[step->first_input + i];
      if (slot == kNoSlot || kept[slot]) continue;
      kept[slot] = true;
      step_slots_.push_back(slot);
    }
    step->release_count = static_cast<uint32_t>(step_slots_.size()) - step->first_release;
  }
}

Plan::~Plan() = default;

std::unique_ptr<Plan::Frame> Plan::TakeFrame() const {
  {
    std::lock_guard lock(frames_mutex_);
    if (!frames_.empty()) {
      std::unique_ptr<Frame> frame = std::move(frames_.back());
      frames_.pop_back();
      return frame;
    }
  }
  auto frame = std::make_unique<Frame>();
  frame->slots.resize(slot_count_);
  frame->arguments.resize(widest_step_);
  frame->results.resize(widest_result_);
  for (const auto& [slot, value] : constants_) frame->slots[slot] = value;
  return frame;
}

void Plan::GiveFrame(std::unique_ptr<Frame> frame) const {
  std::lock_guard lock(frames_mutex_);
  frames_.push_back(std::move(frame));
}

void Plan::RunStep(const Step& step, Frame& frame, RunState& run) const {
  run.CheckStop();
  Profiler::Span span(profiler_, step.kernel ? "partition" : "control flow", step.name, run.tag());
  const uint32_t* slots = step_slots_.data() + step.first_input;
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
  const uint32_t* outputs = step_slots_.data() + step.first_output;
  for (uint32_t i = 0; i < step.output_count; ++i) {
    if (outputs[i] != kNoSlot) {
      frame.slots[outputs[i]] = std::move(results[i]);
    } else {
      run.Drop(results[i]);
    }
  }
  const uint32_t* releases = step_slots_.data() + step.first_release;
  for (uint32_t i = 0; i < step.release_count; ++i) run.Drop(frame.slots[releases[i]]);
}

void Plan::Run(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs,
               RunState& run) const {
  std::unique_ptr<Frame> frame = TakeFrame();
  for (size_t i = 0; i < inputs.size(); ++i) frame->slots[input_slots_[i]] = ValuePtr::Share(inputs[i]);
  for (size_t i = 0; i < outer.size(); ++i) frame->slots[outer_slots_[i]] = ValuePtr::Share(outer[i]);
  // A frame that saw a failure is dropped: what it holds is of no further use.
  for (const Step& step : steps_) RunStep(step, *frame, run);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = frame->slots[output_slots_[i]];
  for (uint32_t slot : input_slots_) frame->slots[slot] = nullptr;
  for (uint32_t slot : outer_slots_) frame->slots[slot] = nullptr;
  for (uint32_t slot : output_slots_) frame->slots[slot] = nullptr;
  for (const auto& [slot, value] : constants_) {
    if (!frame->slots[slot]) frame->slots[slot] = value;
  }
  GiveFrame(std::move(frame));
}

}  // namespace epiphyte::core
