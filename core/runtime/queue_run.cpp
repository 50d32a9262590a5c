#include "core/runtime/queue_run.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/device/transfer.h"
#include "core/runtime/value_places.h"

namespace epiphyte::core {
namespace {

bool CanBeOnDevice(const Value& value) { return value.IsTensor() && value.type() != DataType::kString; }

}  // namespace

// Makes the outputs of the running step.
class QueueRun::StepOutputs : public OutputMaker {
 public:
  StepOutputs(QueueRun& run, size_t step, uint32_t queue) : run_(run), step_(step), queue_(queue) {}

  ValuePtr MakeOnHost(uint32_t index, DataType type, std::span<const int64_t> dims) override {
    if (const OutputBinding* binding = BindingOf(index); binding != nullptr && binding->value) {
      if (!binding->value->IsOnDevice() && Fits(*binding->value, type, dims) && IsWritable(*binding, index)) {
        return binding->value;
      }
    }
    return Value::Tensor(type, dims, &run_.run_);
  }

  ValuePtr Make(uint32_t index, DataType type, std::span<const int64_t> dims) override {
    const OutputBinding* binding = BindingOf(index);
    if (binding != nullptr && binding->value) {
      if (Fits(*binding->value, type, dims) && IsWritable(*binding, index)) return binding->value;
    } else if (ValuePtr over = OverInput(index, type, dims, binding)) {
      return over;
    }
    return run_.queues_.Make(queue_, PlaceOf(index, binding), type, dims, step().name);
  }

  ValuePtr Adopt(uint32_t index, DataType type, std::span<const int64_t> dims, uint32_t memory, EpBuffer* buffer,
                 uint64_t size, uint64_t offset) override {
    const auto& memories = run_.plan_.device(queue_).memories();
    if (memory >= memories.size()) {
      Fail(StatusCode::kInvalidArgument, "output {} is in memory {}, but device '{}' has {}", index, memory,
           run_.plan_.device(queue_).name(), memories.size());
    }
    return Value::OnDevice(type, dims, memories[memory]->Adopt(buffer, size, offset, run_.plan_.tools().account));
  }

 private:
  const PlanStep& step() const { return run_.tables_.steps[step_]; }
  const OutputBinding* BindingOf(uint32_t index) const { return run_.bound_.Of(run_.tables_.OutputsOf(step())[index]); }
  bool IsWritable(const OutputBinding& binding, uint32_t index) const {
    return run_.bound_.IsWritable(binding, step_, queue_, index, run_.frame_.used);
  }
  static bool Fits(const Value& value, DataType type, std::span<const int64_t> dims) {
    return value.IsTensor() && value.type() == type && std::ranges::equal(value.dims(), dims);
  }

  Place PlaceOf(uint32_t index, const OutputBinding* binding) const {
    if (binding != nullptr) {
      // A bound value's memory counts, too: an output that can't be written in place is then copied on the device.
      const DeviceMemory* wanted = binding->memory.get();
      if (binding->value && binding->value->IsOnDevice()) wanted = PieceOf(*binding->value)->pool().get();
      const PluginDevice& device = run_.plan_.device(queue_);
      const uint32_t set = step().kernel->places().OfOutput(index);
      for (const auto& memory : device.memories()) {
        if (memory.get() == wanted && Place{memory->number()}.In(set)) return {memory->number()};
      }
    }
    return run_.plan_.PlaceOf(step().first_output + index);
  }

  // Returns the input's memory that the kernel may overwrite, if nothing else needs it any more; else null.
  ValuePtr OverInput(uint32_t index, DataType type, std::span<const int64_t> dims, const OutputBinding* binding) const {
    const int32_t alias = step().kernel->places().AliasOf(index);
    const auto inputs = run_.tables_.InputsOf(step());
    if (alias < 0 || static_cast<size_t>(alias) >= inputs.size()) return nullptr;
    const auto input = static_cast<size_t>(alias);
    const uint32_t slot = inputs[input];
    if (slot == kNoSlot || run_.plan_.IsReadFrom(slot, step_ + 1)) return nullptr;
    if (std::count(inputs.begin(), inputs.end(), slot) != 1) return nullptr;
    const TrackedValue* given = run_.frame_.used[input];
    if (given == nullptr || !given->value || !given->value->IsOnDevice()) return nullptr;
    const Value& value = *given->value;
    // Applications keep their inputs; another output may overwrite the same input.
    if (!value.IsUnique() || value.storage().use_count() != 1) return nullptr;
    if (run_.queues_.IsUsedElsewhere(*given, queue_)) return nullptr;
    if (DataTypeBytes(type, ElementCount(dims.data(), dims.size())) != value.byte_size()) return nullptr;
    const PluginDevice& device = run_.plan_.device(queue_);
    if (!IsWithin(value, &device, step().kernel->places().OfOutput(index))) return nullptr;
    if (binding != nullptr && PieceOf(value)->pool() != binding->memory) return nullptr;
    return Value::OnDevice(type, dims, value.storage());
  }

  QueueRun& run_;
  size_t step_;
  uint32_t queue_;
};

QueueRun::QueueRun(const QueuePlan& plan, QueueFrame& frame, RunState& run, const RunBindings* bindings)
    : plan_(plan),
      tables_(plan.tables()),
      frame_(frame),
      run_(run),
      bindings_(bindings),
      queues_(plan, frame, run),
      bound_(plan, frame, queues_, bindings) {}

void QueueRun::Run(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs) {
  try {
    bound_.Check();
    RunSteps(inputs, outer, outputs);
  } catch (const Error& error) {
    if (error.code() == StatusCode::kDeviceReset) NoteLosses();
    queues_.Abandon();
    throw;
  } catch (...) {
    queues_.Abandon();
    throw;
  }
}

void QueueRun::NoteLosses() {
  if (running_queue_ != kHostQueue) plan_.NoteLoss(running_queue_);
  for (uint32_t queue = 0; queue < queues_.count(); ++queue) {
    if (queues_[queue].stream->failed()) plan_.NoteLoss(queue);
  }
}

void QueueRun::RunSteps(std::span<Value* const> inputs, std::span<Value* const> outer, std::span<ValuePtr> outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) frame_.slots[tables_.inputs[i]].value = ValuePtr::Share(inputs[i]);
  for (size_t i = 0; i < outer.size(); ++i) frame_.slots[tables_.outer[i]].value = ValuePtr::Share(outer[i]);
  for (size_t i = 0; i < tables_.steps.size(); ++i) RunStep(i);
  run_.CheckStop();
  Finish(outputs);
}

void QueueRun::RunStep(size_t index) {
  run_.CheckStop();
  const PlanStep& step = tables_.steps[index];
  const uint32_t queue = plan_.QueueOf(index);
  {
    const Profiler::Span span(plan_.tools().profiler, step.kernel ? "partition" : "control flow", step.name,
                              run_.tag());
    if (queue == kHostQueue) {
      RunOnHost(index);
    } else {
      RunOnQueue(index, queue);
    }
  }
  TakeResults(index, queue);
  for (const uint32_t slot : tables_.ReleasesOf(step)) queues_.Drop(frame_.slots[slot]);
}

void QueueRun::RunOnHost(size_t index) {
  const PlanStep& step = tables_.steps[index];
  frame_.used.clear();
  for (const uint32_t slot : tables_.InputsOf(step)) {
    frame_.used.push_back(slot == kNoSlot || !frame_.slots[slot].value ? nullptr : &frame_.slots[slot]);
  }
  queues_.CopyToHost(frame_.used);
  frame_.arguments.clear();
  for (TrackedValue*& value : frame_.used) {
    if (value != nullptr) {
      value = &queues_.OnHost(*value);
      queues_.WaitForWriter(*value);
    }
    frame_.arguments.push_back(value == nullptr ? nullptr : value->value.get());
  }
  const std::span<ValuePtr> results(frame_.results.data(), step.output_count);
  if (step.control_flow) return step.control_flow->Run(frame_.arguments, results, run_);
  StepOutputs outputs(*this, index, kHostQueue);
  Submission submission;
  submission.outputs = &outputs;
  submission.binding = BindingOf(index, kHostQueue);
  step.kernel->Execute(frame_.arguments, results, &run_, bindings_ == nullptr ? nullptr : &submission);
}

// Returns the input where the kernel can read it: the value itself, or a copy that `batch` will fill.
TrackedValue* QueueRun::BringInput(size_t index, uint32_t queue, size_t input, std::vector<EpCopy>* batch) {
  const PlanStep& step = tables_.steps[index];
  const uint32_t slot = tables_.InputsOf(step)[input];
  if (slot == kNoSlot || !frame_.slots[slot].value) return nullptr;
  TrackedValue& value = frame_.slots[slot];
  const uint32_t set = step.kernel->places().OfInput(input);
  // Used for inputs that the host reads during Execute: views of other values, and host memory.
  const auto on_host = [&]() -> TrackedValue* {
    TrackedValue* const values[] = {&value};
    queues_.CopyToHost(values);
    TrackedValue& here = queues_.OnHost(value);
    queues_.WaitForWriter(here);
    return &here;
  };
  if (!CanBeOnDevice(*value.value)) return on_host();
  const PluginDevice& device = plan_.device(queue);
  if (IsWithin(*value.value, &device, set)) {
    if (!value.value->IsOnDevice()) return on_host();
    queues_.WaitOnQueue(queue, value);
    return &value;
  }
  if (TrackedValue* copy = queues_.FindCopy(value, queue, set)) {
    if (copy->value->IsOnDevice()) {
      queues_.WaitOnQueue(queue, *copy);
    } else {
      queues_.WaitForWriter(*copy);
    }
    return copy;
  }
  const Place place = plan_.BestOf(queue, set);
  if (place.on_host()) return on_host();
  TrackedValue* source = &value;
  if (value.value->IsOnDevice() && &PieceOf(*value.value)->pool()->plugin() != &device.plugin()) {
    source = on_host();
  } else if (!value.value->IsOnDevice()) {
    queues_.WaitForWriter(value);
  }
  TrackedValue copy;
  const Value& from = *source->value;
  copy.value = queues_.Make(queue, place, from.type(), from.dims(), step.name);
  if (from.byte_size() != 0) {
    queues_.WaitOnQueue(queue, *source);
    batch->push_back({CopyEndOf(from), CopyEndOf(*copy.value), from.byte_size()});
  }
  queues_.NoteUse(queue, *source);
  value.copies.push_back({queue, place.memory, std::move(copy)});
  return &value.copies.back().value;
}

void QueueRun::BringInputs(size_t index, uint32_t queue) {
  const PlanStep& step = tables_.steps[index];
  // Reserve space for all copies first, because their addresses are kept.
  for (const uint32_t slot : tables_.InputsOf(step)) {
    if (slot != kNoSlot) frame_.slots[slot].copies.reserve(frame_.slots[slot].copies.size() + 2 * step.input_count + 2);
  }
  frame_.used.clear();
  std::vector<EpCopy> batch;
  std::vector<TrackedValue*> filled;
  for (size_t input = 0; input < step.input_count; ++input) {
    const size_t before = batch.size();
    frame_.used.push_back(BringInput(index, queue, input, &batch));
    if (batch.size() != before) filled.push_back(frame_.used.back());
  }
  queues_.Copy(queue, batch);
  for (TrackedValue* copy : filled) queues_.NoteWritten(queue, *copy);
}

uint64_t QueueRun::BindingOf(size_t index, uint32_t queue) {
  if (bindings_ == nullptr || bindings_->numbers == nullptr) return 0;
  const PlanStep& step = tables_.steps[index];
  std::vector<uint64_t> seen;
  const auto add = [&](const Value& tensor) {
    if (tensor.IsOnDevice()) {
      seen.push_back(reinterpret_cast<uintptr_t>(tensor.storage()->buffer()));
      seen.push_back(tensor.storage()->offset());
    } else {
      seen.push_back(reinterpret_cast<uintptr_t>(tensor.data()));
      seen.push_back(0);
    }
    seen.push_back(static_cast<uint64_t>(tensor.type()));
    seen.push_back(tensor.dims().size());
    for (const int64_t dim : tensor.dims()) seen.push_back(static_cast<uint64_t>(dim));
  };
  const auto inputs = tables_.InputsOf(step);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (frame_.used[i] == nullptr) {
      seen.push_back(0);
      continue;
    }
    // A value that a run makes itself has another address in the next run.
    const auto is = [&](const std::vector<uint32_t>& slots) {
      return std::find(slots.begin(), slots.end(), inputs[i]) != slots.end();
    };
    const bool stays =
        frame_.used[i] == &frame_.slots[inputs[i]] && frame_.used[i]->value->IsTensor() && is(tables_.inputs);
    if (!stays) return 0;
    add(*frame_.used[i]->value);
  }
  const auto outputs = tables_.OutputsOf(step);
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const OutputBinding* binding = bound_.Of(outputs[i]);
    if (binding == nullptr || !binding->value || !bound_.IsWritable(*binding, index, queue, i, frame_.used)) return 0;
    add(*binding->value);
  }
  return bindings_->numbers->Of(index, seen);
}

void QueueRun::RunOnQueue(size_t index, uint32_t queue) {
  const PlanStep& step = tables_.steps[index];
  running_queue_ = queue;
  BringInputs(index, queue);
  if (!step.kernel->places().async) {
    for (const TrackedValue* value : frame_.used) {
      if (value != nullptr) queues_.WaitForWriter(*value);
    }
    queues_.Synchronize(queue);
  }
  QueueState& state = queues_[queue];
  state.held_states.reserve(state.held_states.size() + 1);
  frame_.arguments.clear();
  for (const TrackedValue* value : frame_.used)
    frame_.arguments.push_back(value == nullptr ? nullptr : value->value.get());
  StepOutputs outputs(*this, index, queue);
  Submission submission;
  submission.outputs = &outputs;
  submission.stream = state.stream->handle();
  submission.binding = BindingOf(index, queue);
  // Counted before the call: even after an error some work may be under way.
  ++state.submitted;
  state.stream->NoteSubmission();
  for (TrackedValue* value : frame_.used) {
    if (value != nullptr) queues_.NoteUse(queue, *value);
  }
  const auto hold = [&] {
    if (submission.held_state != nullptr) state.held_states.emplace_back(step.kernel.get(), submission.held_state);
  };
  try {
    step.kernel->Execute(frame_.arguments, {frame_.results.data(), step.output_count}, &run_, &submission);
  } catch (...) {
    hold();
    // Submitted work may still write the results' memory.
    for (uint32_t i = 0; i < step.output_count; ++i) state.held.push_back(std::move(frame_.results[i]));
    throw;
  }
  hold();
  if (!step.kernel->places().async) queues_.Synchronize(queue);
  running_queue_ = kHostQueue;
}

void QueueRun::TakeResults(size_t index, uint32_t queue) {
  const PlanStep& step = tables_.steps[index];
  const auto slots = tables_.OutputsOf(step);
  for (size_t i = 0; i < slots.size(); ++i) {
    TrackedValue unwanted;
    TrackedValue& value = slots[i] == kNoSlot ? unwanted : frame_.slots[slots[i]];
    value.value = std::move(frame_.results[i]);
    if (queue != kHostQueue) {
      queues_.NoteUse(queue, value);
      queues_.NoteWritten(queue, value);
    }
    if (slots[i] == kNoSlot) queues_.Drop(unwanted);
  }
}

void QueueRun::Finish(std::span<ValuePtr> outputs) {
  bound_.Deliver(outputs);
  for (const std::vector<uint32_t>* slots : {&tables_.inputs, &tables_.outer, &tables_.outputs}) {
    for (const uint32_t slot : *slots) frame_.slots[slot] = {};
  }
  for (const auto& [slot, value] : tables_.constants) {
    if (!frame_.slots[slot].value) frame_.slots[slot].value = value;
  }
  queues_.Abandon();
}

}  // namespace epiphyte::core
