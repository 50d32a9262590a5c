#include "core/runtime/bound_outputs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/device/transfer.h"
#include "core/runtime/value_places.h"

namespace epiphyte::core {
namespace {

std::string ShapeText(const Value& value) {
  return fmt::format("{}[{}]", DataTypeName(value.type()), fmt::join(value.dims(), ","));
}

struct LateCopy {
  ValuePtr from;
  ValuePtr to;
};

// A source that an earlier copy would overwrite is copied aside first.
void CopyAll(std::vector<LateCopy> copies, Devices& devices) {
  for (size_t i = 0; i < copies.size(); ++i) {
    const bool overwritten =
        std::any_of(copies.begin(), copies.begin() + static_cast<ptrdiff_t>(i),
                    [&](const LateCopy& earlier) { return Overlap(*earlier.to, *copies[i].from); }) ||
        (Overlap(*copies[i].to, *copies[i].from) && !IsSameMemory(*copies[i].to, *copies[i].from));
    if (!overwritten) continue;
    ValuePtr aside = Value::Tensor(copies[i].from->type(), copies[i].from->dims());
    CopyValue(*copies[i].from, *aside, devices);
    copies[i].from = std::move(aside);
  }
  for (const LateCopy& copy : copies) CopyValue(*copy.from, *copy.to, devices);
}

}  // namespace

const OutputBinding* BoundOutputs::Of(uint32_t slot) const {
  if (bindings_ == nullptr || slot == kNoSlot || !plan_.IsOutput(slot)) return nullptr;
  const std::vector<uint32_t>& outputs = plan_.tables().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputBinding& binding = bindings_->outputs[i];
    if (outputs[i] == slot && (binding.value || binding.memory)) return &binding;
  }
  return nullptr;
}

void BoundOutputs::Check() const {
  if (bindings_ == nullptr) return;
  const std::vector<OutputBinding>& outputs = bindings_->outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t k = 0; k < i && outputs[i].value; ++k) {
      if (!outputs[k].value || !Overlap(*outputs[i].value, *outputs[k].value)) continue;
      Fail(StatusCode::kInvalidArgument, "outputs '{}' and '{}' are bound to the same memory; bind each to its own",
           plan_.tables().output_names[k], plan_.tables().output_names[i]);
    }
  }
}

bool BoundOutputs::IsWritable(const OutputBinding& binding, size_t step, uint32_t queue, uint32_t output,
                              std::span<TrackedValue* const> used) const {
  const PlanStep& running = plan_.tables().steps[step];
  const Value& target = *binding.value;
  const bool on_queue = queue != kHostQueue;
  const uint32_t set = on_queue ? running.kernel->places().OfOutput(output) : EP_MEMORIES_HOST;
  if (!IsWithin(target, on_queue ? &plan_.device(queue) : nullptr, set)) return false;
  const int32_t alias = on_queue ? running.kernel->places().AliasOf(output) : -1;
  const auto inputs = plan_.tables().InputsOf(running);
  for (uint32_t slot = 0; slot < frame_.slots.size(); ++slot) {
    const TrackedValue& value = frame_.slots[slot];
    if (!value.value || !Overlap(target, *value.value)) continue;
    if (queues_.IsUsedElsewhere(value, queue)) return false;
    if (!plan_.IsReadFrom(slot, step)) continue;
    // The value is an alias if only this kernel reads it, once, and has declared that it may be overwritten.
    const bool is_alias = alias >= 0 && inputs[static_cast<size_t>(alias)] == slot &&
                          used[static_cast<size_t>(alias)] == &value && IsSameMemory(target, *value.value) &&
                          !plan_.IsReadFrom(slot, step + 1) && std::count(inputs.begin(), inputs.end(), slot) == 1;
    if (!is_alias) return false;
  }
  return true;
}

void BoundOutputs::CheckFits() const {
  const std::vector<uint32_t>& slots = plan_.tables().outputs;
  for (size_t i = 0; bindings_ != nullptr && i < slots.size(); ++i) {
    const Value* bound = bindings_->outputs[i].value.get();
    if (frame_.slots[slots[i]].value.get() == nullptr) {
      if (bound == nullptr && bindings_->outputs[i].memory == nullptr) continue;
      Fail(StatusCode::kInvalidArgument,
           "output '{}' is an optional input that was left out, but memory is bound to it; give the input or take the "
           "binding back",
           plan_.tables().output_names[i]);
    }
    const Value& made = *frame_.slots[slots[i]].value;
    if (bound != nullptr &&
        !(made.IsTensor() && made.type() == bound->type() && std::ranges::equal(made.dims(), bound->dims()))) {
      Fail(StatusCode::kInvalidArgument,
           "output '{}' is {}, but {} is bound to it; bind a tensor of the output's type and shape",
           plan_.tables().output_names[i], made.IsTensor() ? ShapeText(made) : "no tensor", ShapeText(*bound));
    }
  }
}

void BoundOutputs::Deliver(std::span<ValuePtr> outputs) {
  CheckFits();
  const std::vector<uint32_t>& slots = plan_.tables().outputs;
  std::vector<TrackedValue*>& to_host = frame_.used;  // reused as scratch: no step runs any more
  to_host.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputBinding* binding = bindings_ == nullptr ? nullptr : &bindings_->outputs[i];
    const bool is_bound = binding != nullptr && (binding->value || binding->memory);
    to_host.push_back(is_bound ? nullptr : &frame_.slots[slots[i]]);
  }
  queues_.CopyToHost(to_host);
  queues_.SynchronizeAll();
  std::vector<LateCopy> late;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (to_host[i] != nullptr) {
      outputs[i] = queues_.OnHost(*to_host[i]).value;
      continue;
    }
    const OutputBinding& binding = bindings_->outputs[i];
    const ValuePtr& made = frame_.slots[slots[i]].value;
    if (binding.value) {
      outputs[i] = binding.value;
      if (!IsSameMemory(*made, *binding.value) && made->byte_size() != 0) late.push_back({made, binding.value});
    } else if (!made->IsTensor() || made->type() == DataType::kString) {
      Fail(StatusCode::kInvalidArgument, "output '{}' is no tensor of numbers, so it can't be in memory '{}'",
           plan_.tables().output_names[i], binding.memory->name());
    } else if (made->IsOnDevice() && PieceOf(*made)->pool() == binding.memory) {
      outputs[i] = made;
    } else {
      outputs[i] = ToDevice(*made, *binding.memory, *plan_.tools().devices, plan_.tools().account,
                            plan_.tables().output_names[i]);
    }
  }
  CopyAll(std::move(late), *plan_.tools().devices);
}

}  // namespace epiphyte::core
