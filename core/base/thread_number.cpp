#include "core/base/thread_number.h"

#include <atomic>

namespace epiphyte::core {
namespace {

std::atomic<uint32_t> last_number{0};

// 0: no number yet. Initial-exec allocates the memory with the thread. Otherwise the C library ends the process when it
// has no memory for a thread-local variable at its first use.
[[gnu::tls_model("initial-exec")]] thread_local uint32_t t_number = 0;

}  // namespace

uint32_t ThreadNumber() {
  if (t_number == 0) [[unlikely]]
    t_number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  return t_number;
}

}  // namespace epiphyte::core
