// Runs many small tasks in a child process. A task that crashes or hangs fails alone: the child is replaced, and the
// new one goes on with the next task.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace epiphyte::conformance {

// The tasks. `start` runs once in each child, and then `run` for one task after another. The result of `run` goes back
// to the parent.
struct IsolatedTasks {
  size_t count = 0;
  std::function<void()> start;
  std::function<std::string(size_t index)> run;
};

// Returns the answers in order. For a task that ended its process, `on_death` makes the answer from a text such as
// "killed by signal 11" or "no answer within 60 s".
std::vector<std::string> RunIsolated(const IsolatedTasks& tasks, std::chrono::seconds timeout,
                                     const std::function<std::string(const std::string& cause)>& on_death);

}  // namespace epiphyte::conformance
