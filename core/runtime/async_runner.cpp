#include "core/runtime/async_runner.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/cpu_count.h"
#include "core/base/error.h"
#include "core/base/fork_mark.h"
#include "core/base/reason.h"

namespace epiphyte::core {

struct AsyncRunner::State {
  // Runs tasks until there are none left and the runner is going away.
  void Work() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      changed.wait(lock, [this] { return !tasks.empty() || stop; });
      --idle;
      if (tasks.empty()) return;
      DoFirst(lock);
    }
  }

  void DoFirst(std::unique_lock<std::mutex>& lock) {
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // the task's captures are destroyed outside of the lock
    lock.lock();
  }

  const ForkMark made;
  uint32_t max_threads = 1;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  std::vector<std::thread> threads;
  size_t idle = 0;  // number of threads that wait for a task
  bool stop = false;
};

AsyncRunner::AsyncRunner(uint32_t max_threads) : state_(std::make_shared<State>()) {
  state_->max_threads = max_threads == 0 ? UsableCpus().physical : max_threads;
}

// A forked child gets a fresh state. The old one has the parent's tasks, which only the parent may run, and a mutex
// that may be locked for ever.
std::shared_ptr<AsyncRunner::State> AsyncRunner::CurrentState() {
  static constinit std::mutex renewing;
  const std::lock_guard lock(renewing);
  if (state_->made.IsInherited()) {
    auto fresh = std::make_shared<State>();
    fresh->max_threads = state_->max_threads;
    new std::shared_ptr<State>(std::exchange(state_, std::move(fresh)));  // leaked: it has the parent's threads
  }
  return state_;
}

AsyncRunner::~AsyncRunner() {
  CurrentState();
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    threads = std::move(state_->threads);
  }
  state_->changed.notify_all();
  for (std::thread& thread : threads) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

void AsyncRunner::Post(std::function<void()> task) {
  const std::shared_ptr<State> shared = CurrentState();  // kept here because the task may destroy the runner
  State& state = *shared;
  const std::lock_guard lock(state.mutex);
  state.tasks.push_back(std::move(task));
  if (state.tasks.size() > state.idle && state.threads.size() < state.max_threads) {
    try {
      state.threads.reserve(state.threads.size() + 1);
      state.threads.emplace_back([shared] { shared->Work(); });
    } catch (const std::exception& error) {
      if (state.threads.empty()) {
        state.tasks.pop_back();
        Fail(StatusCode::kFail, "no thread can be started for a run: {}; call Run instead", ReasonOf(error));
      }
    }
  }
  state.changed.notify_one();
}

bool AsyncRunner::DoOne() {
  const std::shared_ptr<State> state = CurrentState();  // kept here because a task may destroy the runner
  std::unique_lock lock(state->mutex);
  if (state->tasks.empty()) return false;
  state->DoFirst(lock);
  return true;
}

}  // namespace epiphyte::core
