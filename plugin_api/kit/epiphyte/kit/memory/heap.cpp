#include "epiphyte/kit/memory/heap.hpp"

#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace epiphyte::kit {

#if defined(__linux__)
namespace {

// Large pages for what is read from end to end: weights of many megabytes stream in noticeably faster.
constexpr uint64_t kLargePage = uint64_t{2} << 20;
// Below it pages of their own would waste too much; at it the heap begins to take them too, until it learns not to.
constexpr uint64_t kOwnPages = uint64_t{128} << 10;

}  // namespace
#endif

void PreferLargePages([[maybe_unused]] void* memory, [[maybe_unused]] uint64_t bytes) {
#if defined(__linux__)
  if (bytes < 2 * kLargePage) return;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t begin = (address + kLargePage - 1) & ~(kLargePage - 1), end = (address + bytes) & ~(kLargePage - 1);
  madvise(reinterpret_cast<void*>(begin), end - begin,
          MADV_HUGEPAGE);  // a kernel without them refuses: nothing is lost
#endif
}

std::shared_ptr<void> AllocateShared(uint64_t bytes) {
#if defined(__linux__)
  if (bytes >= 2 * kLargePage) {
    constexpr auto kAlignment = std::align_val_t{kLargePage};
    void* const memory = ::operator new(static_cast<size_t>(bytes), kAlignment);
    PreferLargePages(memory, bytes);
    return {memory, [](void* p) { ::operator delete(p, kAlignment); }};
  }
#endif
  return {AllocateHeap(bytes), FreeHeap};
}

std::shared_ptr<void> AllocateWeights(uint64_t bytes) {
#if defined(__linux__)
  // `slack`: so that they begin with a large page; what is never touched takes no memory.
  const uint64_t slack = bytes >= 2 * kLargePage ? kLargePage : 0;
  if (bytes >= kOwnPages && bytes <= SIZE_MAX - slack) {
    const auto room = static_cast<size_t>(bytes + slack);
    void* const pages = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    std::shared_ptr<void> owner(pages, [room](void* p) { munmap(p, room); });
    if (slack == 0) return owner;
    const auto begin = (reinterpret_cast<uintptr_t>(pages) + kLargePage - 1) & ~(kLargePage - 1);
    void* const memory = reinterpret_cast<void*>(begin);
    PreferLargePages(memory, bytes);
    return {std::move(owner), memory};
  }
#endif
  return {AllocateHeap(bytes), FreeHeap};
}

}  // namespace epiphyte::kit
