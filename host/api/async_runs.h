// AsyncRuns: how many runs of one session go on that nobody waits for, so that whoever lets go of the session can.
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
  // Until there are none but those that this thread is in. In one, it does what waits for a thread of `runner`: there
  // may be no other to do it. A forked child doesn't wait for runs of its parent.
  void Wait(core::AsyncRunner& runner);

  // While one lives, its thread is in a run of `runs`; in one of them another may begin (see Wait).
  class Inside {
   public:
    explicit Inside(const AsyncRuns* runs);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    // How many of `runs` this thread is in.
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
