#include "core/graph/run_state.h"

#include "core/base/error.h"

namespace epiphyte::core {

// Elements of a sequence were counted when they were made.
uint64_t RunState::BytesOf(const Value& value) {
  if (value.IsTensor()) return value.byte_size() + kPerTensor;
  uint64_t bytes = 0;
  for (const ValuePtr& element : value.elements()) {
    if (element->IsUnique()) bytes += BytesOf(*element);
  }
  return bytes;
}

void RunState::FailTake(uint64_t bytes) const {
  if (bytes > limits_.value_bytes) {
    Fail(StatusCode::kFail,
         "a value of {} bytes is needed, session.max_value_bytes allows {}; use smaller inputs, or set the option "
         "higher",
         bytes, limits_.value_bytes);
  }
  FailRun(bytes);
}

void RunState::FailTensor(uint64_t taken) {
  used_ -= taken;
  FailRun(taken < UINT64_MAX - kPerTensor ? taken + kPerTensor : UINT64_MAX);
}

void RunState::FailRun(uint64_t bytes) const {
  Fail(
      StatusCode::kFail,
      "{} more bytes are needed where the run uses {} already, session.max_run_bytes allows {}; use smaller inputs, or "
      "set the option higher",
      bytes, used_, limits_.run_bytes);
}

void RunState::FailIfStopped() const {
  if (stop_.stop_requested()) Fail(StatusCode::kFail, "the run was cancelled");
}

}  // namespace epiphyte::core
