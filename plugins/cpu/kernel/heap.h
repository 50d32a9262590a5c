// Memory from the heap, aligned for the widest vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

namespace epiphyte::cpu {

inline void* AllocateHeap(uint64_t bytes) { return ::operator new(std::max<uint64_t>(bytes, 1), std::align_val_t(64)); }
inline void FreeHeap(void* memory) { ::operator delete(memory, std::align_val_t(64)); }

}  // namespace epiphyte::cpu
