// Heap memory aligned to 64 bytes, for the widest vectors and for DMA.
//
//   const std::shared_ptr<void> weights = kit::AllocateWeights(bytes);
//   const std::shared_ptr<void> arena = kit::AllocateShared(bytes);
//   void* scratch = kit::AllocateHeap(bytes);   // until FreeHeap
//
// All throw std::bad_alloc. A request of 0 bytes returns memory too, which must not be accessed.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace epiphyte::kit {

inline constexpr uint64_t kHeapAlignment = 64;

inline void* AllocateHeap(uint64_t bytes) {
  return ::operator new (static_cast<size_t>(std::max<uint64_t>(bytes, 1)), std::align_val_t{kHeapAlignment});
}
inline void FreeHeap(void* memory) { ::operator delete (memory, std::align_val_t{kHeapAlignment}); }

// Asks the system for large pages if `memory` is large. Call it before the memory is first written. Large pages are
// many times faster to get than small ones.
void PreferLargePages(void* memory, uint64_t bytes);

// Reference-counted memory for data that stays. Large blocks use large pages if the system has them.
std::shared_ptr<void> AllocateShared(uint64_t bytes);
// Reference-counted memory for weights. Blocks that are not small have pages of their own, initially zero, and freeing
// returns them to the system at once. That matters because compiling frees as many weights as it keeps (folded,
// converted, or not packed yet): the heap would keep them beside the packed weights. Do not use it for allocations of
// runs: new pages cost more than reused memory.
std::shared_ptr<void> AllocateWeights(uint64_t bytes);

}  // namespace epiphyte::kit
