// Memory that ends right before a page that can't be touched: reading or writing past the end stops the process there
// and then, at any optimisation and without a sanitizer.
//
//     std::shared_ptr<void> x = GuardedMemory(12);  // the 13th byte can't be read
//
// What lies around it on its own pages is watched: when the memory is released and a byte in front of it (or, with an
// alignment, behind it) was changed, the process stops too. Without bytes the pointer is that of the forbidden page.
#pragma once

#include <cstdint>
#include <memory>

namespace epiphyte::test {

// Uninitialised memory that doesn't look like a result. An alignment above 1 leaves up to that many bytes before the
// forbidden page.
std::shared_ptr<void> GuardedMemory(uint64_t bytes, uint64_t alignment = 1);

}  // namespace epiphyte::test
