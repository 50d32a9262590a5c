// Memory from the heap, aligned for the widest vectors and for DMA: 64 bytes.
//
//   const std::shared_ptr<void> weights = kit::AllocateWeights(bytes);
//   const std::shared_ptr<void> arena = kit::AllocateShared(bytes);
//   void* scratch = kit::AllocateHeap(bytes);   // until FreeHeap
//
// They throw std::bad_alloc. No bytes give memory as well, which may not be touched.
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

// Memory that was not written to yet, where it is large, comes in large pages if the system has them, which is many
// times faster than page by page.
void PreferLargePages(void* memory, uint64_t bytes);

// Memory that frees itself, for what stays. In large pages where it is large and the system has them.
std::shared_ptr<void> AllocateShared(uint64_t bytes);
// The same for weights, of which compiling frees as many as it keeps (folded, of another type, not packed yet): where
// they are not small in pages of their own, zeros at first, which the system has back at once. The heap would keep
// them, beside what is packed from them. Not for what runs allocate: new pages cost more than memory that was used
// before.
std::shared_ptr<void> AllocateWeights(uint64_t bytes);

}  // namespace epiphyte::kit
