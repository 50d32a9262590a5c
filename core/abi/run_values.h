// RunValues: the references to values that a kernel holds while it executes, and the views that it was given.
//
// An EpValue is good only in the run that made it, so the handles that a kernel passes back are compared with this
// table and never followed. What the kernel did not release is released when the run ends. A run that makes no such
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

  // The kernel holds one more reference to `value`.
  EpValue* Give(ValuePtr value);
  // The value behind a handle; throws INVALID_ARGUMENT when the kernel holds no reference to it.
  Value* Get(const EpValue* handle) const;
  // The value behind a view of an input, or of an element of one; throws INVALID_ARGUMENT when it is none.
  Value* Viewed(const EpValueView* view);
  // Gives up one reference that some run of this thread holds; false when none does.
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
  std::array<Value*, kFew> few_;                                // one entry a reference
  std::optional<CallScopedHandle<RunValues>> open_;             // from the first reference on
  std::unique_ptr<std::unordered_map<Value*, uint64_t>> many_;  // references beyond the few
  std::unique_ptr<std::unordered_set<const Value*>> nested_;    // all elements of inputs, once it pays
};

}  // namespace epiphyte::core
