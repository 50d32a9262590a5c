#include "epiphyte/kit/memory/weight_arena.hpp"

#include <cstddef>
#include <new>

#include "epiphyte/kit/memory/heap.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace epiphyte::kit {
namespace {

#if defined(__linux__)
// Size of a chunk of address space. Memory is taken one large page at a time, as it is written.
constexpr uint64_t kChunk = uint64_t{64} << 20;

// Returns the whole pages within the block to the system.
void GiveBack(void* memory, uint64_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t begin = (address + page - 1) / page * page, end = (address + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}
#else
constexpr uint64_t kChunk = 0;

void GiveBack(void*, uint64_t) {}
#endif

// Blocks of this size and more do not share a chunk, because they get large pages of their own.
constexpr uint64_t kOwnPages = kChunk / 4;
// Models with fewer bytes of weights do not justify a partly used large page.
constexpr uint64_t kWorthChunks = uint64_t{2} << 20;

}  // namespace

std::shared_ptr<void> WeightArena::Allocate(uint64_t bytes) {
  if (bytes >= kOwnPages) return AllocateWeights(bytes);
  total_ += bytes;
  if (total_ < kWorthChunks) return AllocateWeights(bytes);
  if (chunk_ == nullptr || bytes > kChunk - used_) {
    try {
      chunk_ = AllocateWeights(kChunk);
    } catch (const std::bad_alloc&) {
      // With a limited address space, an allocation of the requested size may still succeed.
      return AllocateWeights(bytes);
    }
    used_ = 0;
  }
  void* const memory = static_cast<std::byte*>(chunk_.get()) + used_;
  used_ += (bytes + kHeapAlignment - 1) / kHeapAlignment * kHeapAlignment;
  return {memory, [chunk = chunk_, bytes](void* p) { GiveBack(p, bytes); }};
}

}  // namespace epiphyte::kit
