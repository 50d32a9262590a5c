// Number of threads of this process, for tests of the moment at which threads start. Threads of a pool that was just
// destroyed may still be ending.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace epiphyte::test {

inline size_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace epiphyte::test
