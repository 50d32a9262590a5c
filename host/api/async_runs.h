// AsyncRuns: count of one session's asynchronous runs, so that the session's destructor can wait for them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "core/base/fork_mark.h"
#include "core/runtime/async_runner.h"

namespace epiphyte {

// Thread-safe.
class AsyncRuns {
 public:
  void Begin();
  void End();
  // Waits until only the runs that this thread is in remain. Inside a run, it executes pending runs of `runner`
  // meanwhile, because there may be no other thread for them. A forked child doesn't wait for runs of its parent.
  void Wait(core::AsyncRunner& runner);

  // Marks the thread as inside a run of `runs` as long as the object lives. Objects can be nested (see Wait).
  class Inside {
   public:
    explicit Inside(const AsyncRuns* runs);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    // Returns the number of runs of `runs` that this thread is in.
    static size_t CountOf(const AsyncRuns* runs);

   private:
    const AsyncRuns* runs_;
    const Inside* outer_;
  };

 private:
  const core::ForkMark made_;
  std::mutex mutex_;
  std::condition_variable ended_;
  size_t count_ = 0;
};

}  // namespace epiphyte
