#include "core/base/fork_mark.h"

#include <pthread.h>

#include <atomic>

namespace epiphyte::core {
namespace {

// Number of forks between the first mark and this process. It is state of the process, like its threads.
constinit std::atomic<uint32_t> g_forks{0};

}  // namespace

uint32_t ForkMark::CountForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { g_forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return g_forks.load(std::memory_order_relaxed);
}

}  // namespace epiphyte::core
