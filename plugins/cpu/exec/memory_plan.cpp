#include "plugins/cpu/exec/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace epiphyte::cpu {
namespace {

// Searching all placed intervals is quadratic; beyond this many the sweep below, which is n log n, decides.
constexpr size_t kExactLimit = 4096;

uint64_t Rounded(uint64_t bytes) { return (std::max<uint64_t>(bytes, 1) + 63) & ~uint64_t{63}; }

uint64_t PlaceBestFit(std::vector<MemoryInterval>& intervals) {
  std::vector<uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return intervals[a].bytes > intervals[b].bytes; });
  std::vector<uint32_t> placed;  // by offset
  uint64_t total = 0;
  for (uint32_t index : order) {
    MemoryInterval& interval = intervals[index];
    const uint64_t need = Rounded(interval.bytes);
    uint64_t best = UINT64_MAX;
    uint64_t best_gap = UINT64_MAX;
    uint64_t end = 0;  // of the space taken so far
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
      end = std::max(end, other.offset + Rounded(other.bytes));
    }
    interval.offset = best == UINT64_MAX ? end : best;
    total = std::max(total, interval.offset + need);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](uint32_t a, uint32_t b) { return intervals[a].offset < intervals[b].offset; }),
                  index);
  }
  return total;
}

// In order of time, from a list of free blocks by size.
uint64_t PlaceSweep(std::vector<MemoryInterval>& intervals) {
  std::vector<uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return intervals[a].first < intervals[b].first; });
  std::multimap<int32_t, uint32_t> alive;  // by last node
  std::multimap<uint64_t, uint64_t> free;  // size -> offset
  std::vector<uint64_t> block(intervals.size());
  uint64_t total = 0;
  for (uint32_t index : order) {
    MemoryInterval& interval = intervals[index];
    while (!alive.empty() && alive.begin()->first < interval.first) {
      const uint32_t dead = alive.begin()->second;
      free.emplace(block[dead], intervals[dead].offset);
      alive.erase(alive.begin());
    }
    const uint64_t need = Rounded(interval.bytes);
    const auto fit = free.lower_bound(need);
    if (fit != free.end() && fit->first <= need * 2) {
      block[index] = fit->first;
      interval.offset = fit->second;
      free.erase(fit);
    } else {
      block[index] = need;
      interval.offset = total;
      total += need;
    }
    alive.emplace(interval.last, index);
  }
  return total;
}

}  // namespace

uint64_t PlaceIntervals(std::vector<MemoryInterval>& intervals) {
  return intervals.size() <= kExactLimit ? PlaceBestFit(intervals) : PlaceSweep(intervals);
}

}  // namespace epiphyte::cpu
