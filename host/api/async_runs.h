// AsyncRuns: how many runs of one session go on that nobody waits for, so that whoever lets go of the session can.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "core/runtime/async_runner.h"

namespace epiphyte {

// Thread-safe.
class AsyncRuns {
 public:
  void Begin();
  void End();
  // Until there are none but those that this thread is in. In one, it does what waits for a thread of `runner`: there
  // may be no other to do it.
  void Wait(core::AsyncRunner& runner);

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  size_t count_ = 0;
};

}  // namespace epiphyte
