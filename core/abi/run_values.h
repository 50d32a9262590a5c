// RunValues: the references to values that a kernel holds while it executes, and the views that it was given.
//
// An EpValue is valid only in the run that made it. Handles that a kernel passes back are looked up in this table and
// never followed. References that the kernel did not release are released when the run ends. A run that makes no such
// value, as most do, pays nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "core/abi/call_scoped_handle.h"
#include "core/graph/value.h"

namespace epiphyte::core {

class RunValues {
 public:
  explicit RunValues(std::span<Value* const> inputs) : inputs_(inputs) {}
  ~RunValues() {
    if (open_) ReleaseAll();
  }
  RunValues(const RunValues&) = delete;
  RunValues& operator=(const RunValues&) = delete;

  // Gives the kernel one more reference to `value`.
  EpValue* Give(ValuePtr value);
  // Returns the value behind a handle. Throws INVALID_ARGUMENT when the kernel holds no reference to it.
  Value* Get(const EpValue* handle) const;
  // Returns the value behind a view of an input, or of an input's element. Throws INVALID_ARGUMENT for any other view.
  Value* Viewed(const EpValueView* view);
  // Gives up one reference that a run of this thread holds; false when no run holds one.
  static bool Release(const EpValue* handle);

 private:
  bool Holds(const Value* value) const;
  bool Drop(Value* value);
  void RequireThread() const;
  void ReleaseAll() noexcept;
  Value* FindNested(const EpValueView* view);

  static constexpr size_t kFew = 4;
  std::span<Value* const> inputs_;
  std::thread::id thread_ = std::this_thread::get_id();
  uint32_t few_count_ = 0;
  uint32_t nested_searches_ = 0;
  std::array<Value*, kFew> few_;                                // one entry for each reference
  std::optional<CallScopedHandle<RunValues>> open_;             // set from the first reference on
  std::unique_ptr<std::unordered_map<Value*, uint64_t>> many_;  // references beyond few_
  // All elements of inputs; made when the number of searches justifies it.
  std::unique_ptr<std::unordered_set<const Value*>> nested_;
};

}  // namespace epiphyte::core
