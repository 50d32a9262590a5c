// AsyncRunner: the few threads of runs that no caller waits for. No thread exists before the first task; each stays
// until the runner goes away.
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
  explicit AsyncRunner(uint32_t max_threads);  // 0: one for each physical core that this process may use
  // Runs the waiting tasks and waits for the running ones. A task may call it: the task's own thread then ends by
  // itself soon after.
  ~AsyncRunner();
  AsyncRunner(const AsyncRunner&) = delete;
  AsyncRunner& operator=(const AsyncRunner&) = delete;

  // Starts tasks in the order in which they were posted. A task that throws ends the process. Throws FAIL when no
  // thread is free and none can be started.
  void Post(std::function<void()> task);
  // Runs the first waiting task on this thread; false when there is none. For a task that must wait for others, which
  // may have no other thread.
  bool DoOne();

 private:
  struct State;
  std::shared_ptr<State> CurrentState();

  std::shared_ptr<State> state_;  // the threads share it
};

}  // namespace epiphyte::core
