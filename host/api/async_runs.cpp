#include "host/api/async_runs.h"

namespace epiphyte {
namespace {

// The TLS model allocates the variable together with the thread, as in ThreadPool.
[[gnu::tls_model("initial-exec")]] thread_local const AsyncRuns::Inside* t_innermost = nullptr;

}  // namespace

AsyncRuns::Inside::Inside(const AsyncRuns* runs) : runs_(runs), outer_(t_innermost) { t_innermost = this; }
AsyncRuns::Inside::~Inside() { t_innermost = outer_; }

size_t AsyncRuns::Inside::CountOf(const AsyncRuns* runs) {
  size_t count = 0;
  for (const Inside* inside = t_innermost; inside != nullptr; inside = inside->outer_) count += inside->runs_ == runs;
  return count;
}

void AsyncRuns::Begin() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

void AsyncRuns::End() {
  const std::lock_guard lock(mutex_);
  --count_;
  ended_.notify_all();
}

void AsyncRuns::Wait(core::AsyncRunner& runner) {
  if (made_.IsInherited()) return;  // the runs belong to the parent process
  const size_t own = Inside::CountOf(this);
  std::unique_lock lock(mutex_);
  while (count_ > own && t_innermost != nullptr) {
    lock.unlock();
    const bool did_one = runner.DoOne();
    lock.lock();
    if (!did_one) break;
  }
  // Other threads execute the remaining runs.
  ended_.wait(lock, [&] { return count_ <= own; });
}

}  // namespace epiphyte
