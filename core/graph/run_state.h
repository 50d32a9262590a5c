// RunState: the memory limits of one run, and its stop request.
//
// Every tensor of a run is counted before its memory is allocated, until Drop releases its last reference. A plugin's
// own memory is counted while its kernel executes (ep_run_limits.h). A value that is also referenced elsewhere stays
// counted, so the count may be too high but never too low. The object belongs to the thread of the run.
//
//   RunState run({.value_bytes = …, .run_bytes = …}, stop);
//   ValuePtr x = Value::Tensor(type, dims, &run);   // throws FAIL when it would be too much
//   run.Drop(x);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/memory_budget.h"
#include "core/graph/value.h"
#include "epiphyte/ep_abi.h"

namespace epiphyte::core {

// Options that an application gave one run for its providers, by the provider's name.
using RunOptionViews = std::map<std::string, std::vector<EpKeyValue>, std::less<>>;

class RunState : public MemoryBudget {
 public:
  RunState() = default;
  // `tag` names the run in traces and to plugins. It is zero-terminated and must outlive the run, like `options`. Null
  // `options`: there are none.
  explicit RunState(const MemoryLimits& limits, std::stop_token stop = {}, std::string_view tag = {},
                    const RunOptionViews* options = nullptr)
      : MemoryBudget(limits), stop_(std::move(stop)), can_stop_(stop_.stop_possible()), tag_(tag), options_(options) {}
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  // Releases a value.
  void Drop(ValuePtr& value) {
    if (value && value->IsUnique()) Give(BytesOf(*value));
    value = nullptr;
  }

  // Throws CANCELED when the application has requested a stop.
  void CheckStop() const {
    if (can_stop_) [[unlikely]]
      FailIfStopped();
  }
  std::string_view tag() const { return tag_; }
  const RunOptionViews* options() const { return options_; }
  bool stopped() const { return can_stop_ && stop_.stop_requested(); }
  const std::stop_token& stop() const { return stop_; }

  // A number that is unique among the runs of the process; never 0.
  uint64_t id() {
    if (id_ == 0) id_ = NextId();
    return id_;
  }
  static uint64_t NextId();

 private:
  static uint64_t BytesOf(const Value& value);
  void FailIfStopped() const;

  uint64_t id_ = 0;  // 0 until id() is called
  std::stop_token stop_;
  bool can_stop_ = false;
  std::string_view tag_;
  const RunOptionViews* options_ = nullptr;
};

}  // namespace epiphyte::core
