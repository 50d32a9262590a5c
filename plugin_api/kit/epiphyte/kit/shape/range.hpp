// RangeCount: how many numbers there are from `start` up to, but not including, `limit`, in steps of `delta`.
//
//   const int64_t count = kit::RangeCount(start, limit, delta);
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT) for a delta of 0 and for a count that no tensor could hold.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>

namespace epiphyte::kit {

int64_t RangeCount(int64_t start, int64_t limit, int64_t delta);
int64_t RangeCount(uint64_t start, uint64_t limit, uint64_t delta);
int64_t RangeCount(double start, double limit, double delta);

}  // namespace epiphyte::kit
