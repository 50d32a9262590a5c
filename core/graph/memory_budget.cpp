#include "core/graph/memory_budget.h"

#include "core/base/error.h"

namespace epiphyte::core {

void MemoryBudget::FailTake(uint64_t bytes) const {
  if (bytes > limits_.value_bytes) {
    Fail(StatusCode::kFail,
         "a value of {} bytes is needed, session.max_value_bytes allows {}; use smaller inputs, or set the option "
         "higher",
         bytes, limits_.value_bytes);
  }
  FailRun(bytes);
}

void MemoryBudget::FailTensor(uint64_t taken) {
  used_ -= taken;
  FailRun(taken < UINT64_MAX - kPerTensor ? taken + kPerTensor : UINT64_MAX);
}

void MemoryBudget::FailRun(uint64_t bytes) const {
  Fail(
      StatusCode::kFail,
      "{} more bytes are needed where the run uses {} already, session.max_run_bytes allows {}; use smaller inputs, or "
      "set the option higher",
      bytes, used_, limits_.run_bytes);
}

}  // namespace epiphyte::core
