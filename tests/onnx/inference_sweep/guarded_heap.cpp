#include "tests/onnx/inference_sweep/guarded_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__has_feature)
#define EPIPHYTE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define EPIPHYTE_HAS_FEATURE(feature) 0
#endif

namespace {

bool g_armed = false;
size_t g_largest = 0;

// Throws std::bad_alloc for an allocation larger than any inference needs.
void CheckSize(size_t bytes) {
  if (!g_armed) return;
  g_largest = std::max(g_largest, bytes);
  if (bytes > epiphyte::test::kMostBytesPerAllocation) throw std::bad_alloc();
}

#if defined(__SANITIZE_ADDRESS__) || EPIPHYTE_HAS_FEATURE(address_sanitizer)
void* Allocate(size_t bytes) {
  CheckSize(bytes);
  void* const memory = std::malloc(std::max<size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void Free(void* memory) { std::free(memory); }
#else

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
// Each slot takes two of the 65,530 mappings that Linux gives a process.
constexpr uint32_t kSlots = 1024;
constexpr unsigned char kFresh = 0xC5;
constexpr unsigned char kFreed = 0xDB;

// Slots of one page, separated by inaccessible pages. A freed slot is used again only after all other free slots.
struct Slots {
  unsigned char* begin = nullptr;
  uint32_t queue[kSlots];
  uint32_t sizes[kSlots];
  uint32_t head = 0;
  uint32_t free = 0;
};
Slots g_slots;

void MakeSlots() {
  void* const memory =
      mmap(nullptr, kSlots * 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  g_slots.begin = static_cast<unsigned char*>(memory);
  for (uint32_t i = 0; i < kSlots; ++i) {
    if (mprotect(g_slots.begin + (2 * i + 1) * kPage, kPage, PROT_NONE) != 0) std::abort();
    g_slots.queue[i] = i;
  }
  g_slots.free = kSlots;
}

void* Allocate(size_t bytes) {
  CheckSize(bytes);
  if (g_armed && bytes <= kPage && g_slots.free > 0) {
    const uint32_t slot = g_slots.queue[g_slots.head];
    g_slots.head = (g_slots.head + 1) % kSlots;
    --g_slots.free;
    const size_t used = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    g_slots.sizes[slot] = static_cast<uint32_t>(used);
    unsigned char* const memory = g_slots.begin + 2 * slot * kPage + kPage - used;
    std::memset(memory, kFresh, used);
    return memory;
  }
  void* const memory = std::malloc(std::max<size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Free(void* memory) {
  auto* const address = static_cast<unsigned char*>(memory);
  if (g_slots.begin == nullptr || address < g_slots.begin || address >= g_slots.begin + kSlots * 2 * kPage)
    return std::free(memory);
  const auto slot = static_cast<uint32_t>(static_cast<size_t>(address - g_slots.begin) / (2 * kPage));
  std::memset(memory, kFreed, g_slots.sizes[slot]);
  g_slots.queue[(g_slots.head + g_slots.free) % kSlots] = slot;
  ++g_slots.free;
}
#define EPIPHYTE_GUARDED_SLOTS
#endif

}  // namespace

namespace epiphyte::test {

void ArmGuardedHeap() {
#ifdef EPIPHYTE_GUARDED_SLOTS
  if (g_slots.begin == nullptr) MakeSlots();
#endif
  g_largest = 0;
  g_armed = true;
}
void DisarmGuardedHeap() { g_armed = false; }
size_t LargestAllocation() { return g_largest; }

}  // namespace epiphyte::test

void* operator new(size_t bytes) { return Allocate(bytes); }
void* operator new[](size_t bytes) { return Allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return Allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t bytes, const std::nothrow_t& nothrow) noexcept { return operator new(bytes, nothrow); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }
