// A heap in which reading or writing past the end of an allocation stops the process, even in libraries that were built
// without a sanitizer.
//
//   ArmGuardedHeap();      // from here on, operator new of this process gives guarded memory
//   Work();
//   DisarmGuardedHeap();
//   EXPECT_LE(LargestAllocation(), 1 << 20);
//
// Each small allocation ends before an inaccessible page. Memory that is new or freed holds a pattern that is not a
// valid pointer. Under AddressSanitizer the heap is the sanitizer's, and only sizes are checked.
#pragma once

#include <cstddef>

namespace epiphyte::test {

// Larger allocations fail with std::bad_alloc while the heap is armed.
inline constexpr size_t kMostBytesPerAllocation = size_t{64} << 20;

void ArmGuardedHeap();
void DisarmGuardedHeap();
// Returns the bytes of the largest allocation that was requested since the heap was last armed.
size_t LargestAllocation();

}  // namespace epiphyte::test
