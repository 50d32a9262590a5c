#include "core/graph/run_state.h"

#include <atomic>

#include "core/base/error.h"

namespace epiphyte::core {

// Each thread takes many numbers at once, so that runs on many threads don't wait for each other.
uint64_t RunState::NextId() {
  constexpr uint64_t kAtOnce = 1024;
  static std::atomic<uint64_t> first_free{1};
  thread_local uint64_t next = 0;
  thread_local uint64_t end = 0;
  if (next == end) {
    next = first_free.fetch_add(kAtOnce, std::memory_order_relaxed);
    end = next + kAtOnce;
  }
  return next++;
}

// Elements of a sequence were counted when they were made. Device memory is never counted here.
uint64_t RunState::BytesOf(const Value& value) {
  if (value.IsOnDevice()) return 0;
  if (value.IsTensor()) return value.byte_size() + kPerTensor;
  uint64_t bytes = 0;
  for (const ValuePtr& element : value.elements()) {
    if (element->IsUnique()) bytes += BytesOf(*element);
  }
  return bytes;
}

void RunState::FailIfStopped() const {
  if (stop_.stop_requested()) Fail(StatusCode::kCanceled, "the run was cancelled");
}

}  // namespace epiphyte::core
