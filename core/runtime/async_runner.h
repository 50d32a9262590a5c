// AsyncRunner: the few threads that runs without a waiting caller have. None is there before the first task; each stays
// until the runner goes.
//
//   AsyncRunner runner(2);
//   runner.Post([] { … });
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace epiphyte::core {

class AsyncRunner {
 public:
  explicit AsyncRunner(uint32_t max_threads);  // 0: one for each physical core this process may use
  // Waits for the tasks that run, and does what waits before. May be called by a task: then its own thread ends by
  // itself, soon after.
  ~AsyncRunner();
  AsyncRunner(const AsyncRunner&) = delete;
  AsyncRunner& operator=(const AsyncRunner&) = delete;

  // Tasks begin in the order in which they were given. One that throws ends the process. Throws FAIL when there is no
  // thread for it and none can be started.
  void Post(std::function<void()> task);
  // For a task that has to wait for others, which may have no other thread: does the first that waits, on this one.
  // False when there is none.
  bool DoOne();

 private:
  struct State;
  std::shared_ptr<State> CurrentState();

  std::shared_ptr<State> state_;  // the threads have it too
};

}  // namespace epiphyte::core
