// Bound outputs: which outputs of a run a kernel can write straight into the memory that the application has bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/runtime/lane_frame.h"
#include "core/runtime/lane_plan.h"
#include "core/runtime/lanes.h"
#include "core/runtime/run_bindings.h"

namespace epiphyte::core {

class BoundOutputs {
 public:
  // `bindings`: null for none.
  BoundOutputs(const LanePlan& plan, LaneFrame& frame, Lanes& lanes, const RunBindings* bindings)
      : plan_(plan), frame_(frame), lanes_(lanes), bindings_(bindings) {}

  // Throws INVALID_ARGUMENT when two outputs are bound to the same memory.
  void Check() const;
  // Null when nothing is bound for that value.
  const OutputBinding* Of(uint32_t slot) const;
  // Whether the kernel of step `step` can write its output `output` into the bound value: it can use that memory, and
  // nobody reads it any more, but for the kernel itself where it said that it may write over that input. `used`: the
  // step's inputs as the kernel gets them.
  bool IsWritable(const OutputBinding& binding, size_t step, uint32_t lane, uint32_t output,
                  std::span<LaneValue* const> used) const;

  // The outputs as the application wants them, from what the steps made. Synchronizes. Throws INVALID_ARGUMENT, before
  // anything is copied, when one doesn't fit what is bound.
  void Deliver(std::span<ValuePtr> outputs);

 private:
  void CheckFits() const;

  const LanePlan& plan_;
  LaneFrame& frame_;
  Lanes& lanes_;
  const RunBindings* bindings_;
};

}  // namespace epiphyte::core
