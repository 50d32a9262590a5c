// Memory that ends right before an inaccessible page. Reading or writing past the end stops the process at once, at any
// optimisation level and without a sanitizer.
//
//     std::shared_ptr<void> x = GuardedMemory(12);  // the 13th byte can't be read
//
// The remaining bytes on its own pages are checked when the memory is released. If a byte in front of it (or, with an
// alignment, behind it) was changed, the process stops too. For 0 bytes the pointer is the start of the inaccessible
// page.
#pragma once

#include <cstdint>
#include <memory>

namespace epiphyte::test {

// Uninitialised memory that doesn't look like a result. An alignment above 1 leaves up to that many bytes before the
// forbidden page.
std::shared_ptr<void> GuardedMemory(uint64_t bytes, uint64_t alignment = 1);

}  // namespace epiphyte::test
