#include "core/base/process_end.h"

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

// Longer than the creation of most sessions takes, and short for a user who waits for a program to end.
constexpr std::chrono::seconds kPatience{10};

constinit std::atomic<int64_t> calls{0};
// Calls that this thread is inside of: exit() may be called from one.
thread_local int64_t own_calls = 0;

}  // namespace

constinit std::atomic<bool> ProcessEnd::has_begun_{false};

ProcessEnd::Call::Call() {
  // Sequentially consistent, as in Begin: either this call sees the end, or Begin sees this call.
  calls.fetch_add(1);
  if (has_begun_.load()) {
    calls.fetch_sub(1);
    Throw();
  }
  ++own_calls;
}

ProcessEnd::Call::~Call() {
  --own_calls;
  calls.fetch_sub(1, std::memory_order_release);
}

void ProcessEnd::Throw() { Fail(StatusCode::kCanceled, "the process is ending"); }

void ProcessEnd::Notice() {
  // A forked child has none of its parent's other threads, and so none of their calls.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { calls = own_calls; });
  (void)registered;
  std::atexit(&ProcessEnd::Begin);
}

void ProcessEnd::Begin() {
  if (has_begun_.exchange(true)) return;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (calls.load() > own_calls && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace epiphyte::core
