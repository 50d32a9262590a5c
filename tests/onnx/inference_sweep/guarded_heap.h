// A heap of the program's own, in which reading or writing past the end of an allocation stops the process, in
// libraries that were built without any sanitizer too.
//
//   ArmGuardedHeap();      // from here on, operator new of this process gives guarded memory
//   Work();
//   DisarmGuardedHeap();
//   EXPECT_LE(LargestAllocation(), 1 << 20);
//
// Each small allocation ends before a page that can't be touched. What was not written yet, and what was freed, holds a
// pattern that is no valid pointer. Under AddressSanitizer the heap is the sanitizer's and only sizes are watched.
#pragma once

#include <cstddef>

namespace epiphyte::test {

// Larger allocations fail with std::bad_alloc while the heap is armed.
inline constexpr size_t kMostBytesPerAllocation = size_t{64} << 20;

void ArmGuardedHeap();
void DisarmGuardedHeap();
// Bytes of the largest allocation that was asked for since the heap was last armed.
size_t LargestAllocation();

}  // namespace epiphyte::test
