// PlaceIntervals: places memory with limited lifetimes in one arena.
//
//   std::vector<kit::MemoryInterval> intervals = {{4096, 0, 2}, {1024, 1, 3}};   // bytes, first step, last step
//   const uint64_t arena = kit::PlaceIntervals(intervals);
//   intervals[1].offset;
//
// The caller defines the steps, for example nodes in execution order. static_plan.hpp makes intervals from a graph with
// known shapes.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <span>

namespace epiphyte::kit {

// A block of memory that is in use from step `first` to step `last`, both included.
struct MemoryInterval {
  uint64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  uint64_t offset = 0;  // result of PlaceIntervals
};

// Places intervals so that those alive at the same time do not overlap. Up to 4096 intervals are placed by size, the
// largest first, each in the tightest gap that fits. More intervals are placed by their first steps, in blocks that
// have become free. Returns the total size in bytes. Offsets are multiples of `alignment`, a power of two. Throws
// Error(EP_STATUS_INVALID_ARGUMENT) when the sizes overflow any memory.
uint64_t PlaceIntervals(std::span<MemoryInterval> intervals, uint64_t alignment = 64);

}  // namespace epiphyte::kit
