// Rows of floats, with channels last, that become one: pools.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// For each position of the result the largest, or the mean, of `taps` rows of `channels` floats; NaN where there is
// one.
struct FloatPool {
  const float* const* rows = nullptr;  // [positions, taps]
  int64_t positions = 0, taps = 0, channels = 0;
  // Positions [run_first, run_end) read what the first of them reads, `run_step` floats behind the one before each;
  // only the first one's rows are looked at.
  int64_t run_first = 0, run_end = 0, run_step = 0;
  const float* divisors = nullptr;  // of each position's sum; null: the largest
  bool without_nan = false;         // no row has one, which saves a comparison for each element
  float* y = nullptr;               // [positions, channels]
};
void RunFloatPool(const FloatPool& pool);

}  // namespace epiphyte::cpu::simd
