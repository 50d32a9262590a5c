// Bound outputs: decides which outputs of a run a kernel can write straight into the memory that the application bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/runtime/device_queues.h"
#include "core/runtime/queue_frame.h"
#include "core/runtime/queue_plan.h"
#include "core/runtime/run_bindings.h"

namespace epiphyte::core {

class BoundOutputs {
 public:
  // `bindings`: null for none.
  BoundOutputs(const QueuePlan& plan, QueueFrame& frame, DeviceQueues& queues, const RunBindings* bindings)
      : plan_(plan), frame_(frame), queues_(queues), bindings_(bindings) {}

  // Throws INVALID_ARGUMENT when two outputs are bound to the same memory.
  void Check() const;
  // Returns null when the value has no binding.
  const OutputBinding* Of(uint32_t slot) const;
  // Whether the kernel of step `step` can write its output `output` into the bound value. The kernel must be able to
  // use that memory, and no later work may read it. Only the kernel itself may, if it declared that it overwrites that
  // input. `used`: the step's inputs as the kernel gets them.
  bool IsWritable(const OutputBinding& binding, size_t step, uint32_t queue, uint32_t output,
                  std::span<TrackedValue* const> used) const;

  // Delivers the outputs as the application wants them, from the results of the steps. Synchronizes. Throws
  // INVALID_ARGUMENT, before anything is copied, when a result doesn't fit its binding.
  void Deliver(std::span<ValuePtr> outputs);

 private:
  void CheckFits() const;

  const QueuePlan& plan_;
  QueueFrame& frame_;
  DeviceQueues& queues_;
  const RunBindings* bindings_;
};

}  // namespace epiphyte::core
