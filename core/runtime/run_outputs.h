// Run outputs: the caller of a run may write to what the run gave.
//
// A plan's results can be values that others hold, too: constants of the model, one value as two outputs, the elements
// of a sequence. These are copied. An input that is an output too stays the value that the caller gave, and an output
// that is bound stays the value that it is bound to.
//
//   plan->Run(arguments, {}, results, run, bindings);
//   RunOutputs(inputs, run, devices).TakeOver(results, bindings, specs);
#pragma once

#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/device/devices.h"
#include "core/graph/run_state.h"
#include "core/graph/value.h"
#include "core/runtime/run_bindings.h"
#include "core/runtime/session_parts.h"

namespace epiphyte::core {

class RunOutputs {
 public:
  // `inputs` are the values that the caller gave; null for an absent one.
  RunOutputs(std::span<const ValuePtr> inputs, RunState& run, Devices& devices)
      : inputs_(inputs), run_(run), devices_(devices) {}

  // Replaces what others hold by copies. Throws FAIL, which names the output, when a copy is more than the run may
  // have. The run's frame must be cleared before: its references count as those of others.
  void TakeOver(std::span<ValuePtr> outputs, const RunBindings* bindings, const std::vector<ValueSpec>& specs);

 private:
  // `is_only_way`: nothing but the output itself leads to `value`.
  ValuePtr OwnedBy(const ValuePtr& value, bool is_only_way, std::string_view output);
  ValuePtr CopyOf(const Value& tensor, std::string_view output);
  // `value` is an input, or an element of one.
  bool IsGiven(const Value& value);
  void AddGiven(const Value& value);

  std::span<const ValuePtr> inputs_;
  RunState& run_;
  Devices& devices_;
  bool has_given_ = false;
  std::unordered_set<const Value*> given_;  // filled when first asked for
};

}  // namespace epiphyte::core
