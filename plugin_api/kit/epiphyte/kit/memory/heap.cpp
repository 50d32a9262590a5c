#include "epiphyte/kit/memory/heap.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace epiphyte::kit {

std::shared_ptr<void> AllocateShared(uint64_t bytes) {
#if defined(__linux__)
  // Large pages for what is read from end to end: weights of many megabytes stream in noticeably faster.
  constexpr uint64_t kLargePage = uint64_t{2} << 20;
  if (bytes >= 2 * kLargePage) {
    constexpr auto kAlignment = std::align_val_t{kLargePage};
    void* const memory = ::operator new(static_cast<size_t>(bytes), kAlignment);
    madvise(memory, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a kernel without them refuses, and nothing is lost
    return {memory, [](void* p) { ::operator delete(p, kAlignment); }};
  }
#endif
  return {AllocateHeap(bytes), FreeHeap};
}

}  // namespace epiphyte::kit
