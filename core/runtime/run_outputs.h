// Run outputs: makes sure that the caller of a run may write to its results.
//
// A plan's results may be values with other owners: constants of the model, one value as two outputs, the elements of a
// sequence. These are copied. Two kinds are not copied: an input that is an output stays the caller's value, and a
// bound output stays the value that it is bound to.
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
  // `inputs`: the caller's values; null for an absent one.
  RunOutputs(std::span<const ValuePtr> inputs, RunState& run, Devices& devices)
      : inputs_(inputs), run_(run), devices_(devices) {}

  // Replaces values with other owners by copies. Throws FAIL, naming the output, when a copy exceeds the memory limit
  // of the run. Clear the run's frame before the call: its references count as other owners.
  void TakeOver(std::span<ValuePtr> outputs, const RunBindings* bindings, const std::vector<ValueSpec>& specs);

 private:
  // `is_only_way`: the output holds the only reference to `value`.
  ValuePtr OwnedBy(const ValuePtr& value, bool is_only_way, std::string_view output);
  ValuePtr CopyOf(const Value& tensor, std::string_view output);
  // Whether `value` is an input, or an element of one.
  bool IsGiven(const Value& value);
  void AddGiven(const Value& value);

  std::span<const ValuePtr> inputs_;
  RunState& run_;
  Devices& devices_;
  bool has_given_ = false;
  std::unordered_set<const Value*> given_;  // filled at the first query
};

}  // namespace epiphyte::core
