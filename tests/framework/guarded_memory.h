// Memory that ends right before an inaccessible page. Reading or writing past the end stops the process at once, at any
// optimisation level and without a sanitizer.
//
//     std::shared_ptr<void> x = GuardedMemory(12);  // the 13th byte can't be read
//
// The remaining bytes on its pages are checked when the memory is released. The process also stops if a byte before it
// was changed (or, with an alignment, a byte behind it). For 0 bytes the pointer is the start of the inaccessible page.
#pragma once

#include <cstdint>
#include <memory>

namespace epiphyte::test {

// Returns memory filled with a pattern that doesn't look like a result. An alignment above 1 leaves fewer bytes than
// the alignment between the memory and the inaccessible page.
std::shared_ptr<void> GuardedMemory(uint64_t bytes, uint64_t alignment = 1);

}  // namespace epiphyte::test
