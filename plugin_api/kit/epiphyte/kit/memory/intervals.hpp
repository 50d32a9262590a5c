// Placing memory that is needed for a time in one arena.
//
//   std::vector<kit::MemoryInterval> intervals = {{4096, 0, 2}, {1024, 1, 3}};   // bytes, first step, last step
//   const uint64_t arena = kit::PlaceIntervals(intervals);
//   intervals[1].offset;
//
// What the steps are is the caller's: nodes in the order in which they run. static_plan.hpp makes intervals of a graph
// whose shapes are known.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <span>

namespace epiphyte::kit {

// A piece of memory that is needed from step `first` to step `last`, both included.
struct MemoryInterval {
  uint64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  uint64_t offset = 0;  // out
};

// Places intervals so that those alive at the same time don't overlap; largest first, each in the tightest gap that
// takes it. Returns the total size. Offsets are multiples of `alignment`, a power of two. Throws
// Error(EP_STATUS_INVALID_ARGUMENT) for sizes that no memory could hold.
uint64_t PlaceIntervals(std::span<MemoryInterval> intervals, uint64_t alignment = 64);

}  // namespace epiphyte::kit
