// operator new for the fuzz target of plans.
//
// A plan may ask for any amount of memory. Requests far beyond the seeds' needs fail, as they do when memory is short.
// Tensors, scratch memory and packed weights are allocated with an alignment. Each of these ends before an inaccessible
// page, unless AddressSanitizer watches the heap anyway.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "tests/framework/guarded_memory.h"

namespace {

constexpr size_t kMost = size_t{64} << 20;

void* Plain(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  if (bytes > kMost || posix_memalign(&memory, std::max(alignment, sizeof(void*)), std::max<size_t>(bytes, 1)) != 0)
    throw std::bad_alloc();
  return memory;
}

#if defined(__has_feature)
#define EPIPHYTE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define EPIPHYTE_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || EPIPHYTE_HAS_FEATURE(address_sanitizer)
void* Aligned(size_t bytes, std::align_val_t alignment) { return Plain(bytes, static_cast<size_t>(alignment)); }
void FreeAligned(void* memory) { std::free(memory); }
#else
struct GuardedBlocks {
  std::mutex mutex;
  std::unordered_map<void*, std::shared_ptr<void> > blocks;
};
GuardedBlocks& Blocks() {
  static GuardedBlocks* const kBlocks = new GuardedBlocks;
  return *kBlocks;
}

void* Aligned(size_t bytes, std::align_val_t alignment) {
  constexpr size_t kPage = 4096;  // larger alignments are for large pages
  if (bytes > kMost) throw std::bad_alloc();
  if (static_cast<size_t>(alignment) > kPage) return Plain(bytes, static_cast<size_t>(alignment));
  std::shared_ptr<void> memory = epiphyte::test::GuardedMemory(bytes, static_cast<uint64_t>(alignment));
  void* const address = memory.get();
  const std::lock_guard lock(Blocks().mutex);
  Blocks().blocks.emplace(address, std::move(memory));
  return address;
}
void FreeAligned(void* memory) {
  if (memory == nullptr) return;
  std::shared_ptr<void> guarded;
  {
    const std::lock_guard lock(Blocks().mutex);
    const auto found = Blocks().blocks.find(memory);
    if (found == Blocks().blocks.end()) return std::free(memory);
    guarded = std::move(found->second);
    Blocks().blocks.erase(found);
  }
}
#endif

}  // namespace

void* operator new(size_t bytes) { return Plain(bytes, alignof(std::max_align_t)); }
void* operator new[](size_t bytes) { return Plain(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) { return Aligned(bytes, alignment); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return Aligned(bytes, alignment); }
// AddressSanitizer replaces each form of new and delete on its own, so all forms must be defined here.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return bytes > kMost ? nullptr : std::malloc(std::max<size_t>(bytes, 1));
}
void* operator new[](size_t bytes, const std::nothrow_t& nothrow) noexcept { return operator new(bytes, nothrow); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { FreeAligned(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { FreeAligned(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { FreeAligned(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { FreeAligned(memory); }
