// ThreadNumber: small thread numbers, used to spread accesses over memory that threads would otherwise share.
//
//   counters[ThreadNumber() % kPlaces].value.fetch_add(1);
#pragma once

#include <cstdint>

namespace epiphyte::core {

// Returns the same number for the same thread. Numbers are given out in the order in which threads first ask, so the
// next `n` threads have `n` consecutive numbers. A number is not reused when its thread ends.
uint32_t ThreadNumber();

}  // namespace epiphyte::core
