// ThreadNumber: small numbers for threads, to spread what they would otherwise share.
//
//   counters[ThreadNumber() % kPlaces].value.fetch_add(1);
#pragma once

#include <cstdint>

namespace epiphyte::core {

// The same number for the same thread, given out in the order in which threads first ask: the next `n` threads have `n`
// numbers in a row. Not reused when a thread ends.
uint32_t ThreadNumber();

}  // namespace epiphyte::core
