#include "epiphyte/kit/memory/intervals.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <vector>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::kit {
namespace {

// Searching all placed intervals takes quadratic time. For more intervals than this, PlaceSweep takes n log n.
constexpr size_t kExactLimit = 4096;

// Sums of two offsets or sizes below this limit do not overflow.
constexpr uint64_t kMost = uint64_t{1} << 56;

[[noreturn]] void FailTotal() { FailArgument("more than 2^56 bytes found, sizes that memory can hold expected"); }

uint64_t Rounded(uint64_t bytes, uint64_t alignment) {
  return (std::max<uint64_t>(bytes, 1) + alignment - 1) & ~(alignment - 1);
}

uint64_t PlaceBestFit(std::span<MemoryInterval> intervals, uint64_t alignment) {
  std::vector<uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return intervals[a].bytes > intervals[b].bytes; });
  std::vector<uint32_t> placed;  // sorted by offset
  uint64_t total = 0;
  for (uint32_t index : order) {
    MemoryInterval& interval = intervals[index];
    const uint64_t need = Rounded(interval.bytes, alignment);
    uint64_t best = UINT64_MAX;
    uint64_t best_gap = UINT64_MAX;
    uint64_t end = 0;  // end of the space taken so far
    for (uint32_t other_index : placed) {
      const MemoryInterval& other = intervals[other_index];
      if (other.last < interval.first || other.first > interval.last) continue;
      if (other.offset >= end) {
        const uint64_t gap = other.offset - end;
        if (gap >= need && gap < best_gap) {
          best = end;
          best_gap = gap;
        }
      }
      end = std::max(end, other.offset + Rounded(other.bytes, alignment));
    }
    interval.offset = best == UINT64_MAX ? end : best;
    total = std::max(total, interval.offset + need);
    if (total > kMost) FailTotal();
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](uint32_t a, uint32_t b) { return intervals[a].offset < intervals[b].offset; }),
                  index);
  }
  return total;
}

// Places intervals in the order of their first steps, each in the smallest free block that fits and is at most twice as
// large.
uint64_t PlaceSweep(std::span<MemoryInterval> intervals, uint64_t alignment) {
  std::vector<uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return intervals[a].first < intervals[b].first; });
  std::multimap<int32_t, uint32_t> alive;  // key: last step
  std::multimap<uint64_t, uint64_t> free;  // key: size of a free block; mapped: its offset
  std::vector<uint64_t> block(intervals.size());
  uint64_t total = 0;
  for (uint32_t index : order) {
    MemoryInterval& interval = intervals[index];
    while (!alive.empty() && alive.begin()->first < interval.first) {
      const uint32_t dead = alive.begin()->second;
      free.emplace(block[dead], intervals[dead].offset);
      alive.erase(alive.begin());
    }
    const uint64_t need = Rounded(interval.bytes, alignment);
    const auto fit = free.lower_bound(need);
    if (fit != free.end() && fit->first <= need * 2) {
      block[index] = fit->first;
      interval.offset = fit->second;
      free.erase(fit);
    } else {
      block[index] = need;
      interval.offset = total;
      total += need;
      if (total > kMost) FailTotal();
    }
    alive.emplace(interval.last, index);
  }
  return total;
}

}  // namespace

uint64_t PlaceIntervals(std::span<MemoryInterval> intervals, uint64_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > kMost)
    FailArgument("an alignment of ", alignment, " found, a power of two expected");
  for (const MemoryInterval& interval : intervals)
    if (interval.bytes > kMost) FailTotal();
  return intervals.size() <= kExactLimit ? PlaceBestFit(intervals, alignment) : PlaceSweep(intervals, alignment);
}

}  // namespace epiphyte::kit
