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

void RunState::FailIfStopped() const {
  if (stop_.stop_requested()) Fail(StatusCode::kFail, "the run was cancelled");
}

}  // namespace epiphyte::core
