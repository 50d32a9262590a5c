// Runs many small tasks in a child process, so that one that crashes or hangs costs only itself: the child is replaced
// and goes on with the next task.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace epiphyte::conformance {

// The tasks. Start runs once in each child, then Run for one task after another; the result of Run goes back to the
// parent.
struct IsolatedTasks {
  size_t count = 0;
  std::function<void()> start;
  std::function<std::string(size_t index)> run;
};

// The answers, in order; for a task that took its process down, `on_death` makes one of a text such as
// "killed by signal 11" or "no answer within 60 s".
std::vector<std::string> RunIsolated(const IsolatedTasks& tasks, std::chrono::seconds timeout,
                                     const std::function<std::string(const std::string& cause)>& on_death);

}  // namespace epiphyte::conformance
