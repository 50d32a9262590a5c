#include "epiphyte/kit/memory/heap.hpp"

#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace epiphyte::kit {

#if defined(__linux__)
namespace {

// Large pages are for data that is read sequentially: weights of many megabytes are then read noticeably faster.
constexpr uint64_t kLargePage = uint64_t{2} << 20;
// Smaller blocks would waste too much in pages of their own. From this size on, the heap uses separate pages too, until
// it adapts its threshold.
constexpr uint64_t kOwnPages = uint64_t{128} << 10;

}  // namespace
#endif

void PreferLargePages([[maybe_unused]] void* memory, [[maybe_unused]] uint64_t bytes) {
#if defined(__linux__)
  if (bytes < 2 * kLargePage) return;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t begin = (address + kLargePage - 1) & ~(kLargePage - 1), end = (address + bytes) & ~(kLargePage - 1);
  madvise(reinterpret_cast<void*>(begin), end - begin,
          MADV_HUGEPAGE);  // a kernel without large pages refuses, which is harmless
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
  // `slack` lets the block begin with a large page. Pages that are never touched take no memory.
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
