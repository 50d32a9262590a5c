// Range: how many numbers lie from `start` on, `delta` apart, before `limit`.
//
//   const int64_t count = kit::RangeCount(start, limit, delta);
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT) for a delta of 0 and for what no tensor could hold.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>

namespace epiphyte::kit {

int64_t RangeCount(int64_t start, int64_t limit, int64_t delta);
int64_t RangeCount(uint64_t start, uint64_t limit, uint64_t delta);
int64_t RangeCount(double start, double limit, double delta);

}  // namespace epiphyte::kit
