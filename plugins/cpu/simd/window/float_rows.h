// Pools over rows of floats with channels last.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// For each position of the result, the maximum or the mean of `taps` rows of `channels` floats; NaN where a row has
// one.
struct FloatPool {
  const float* const* rows = nullptr;  // [positions, taps]
  int64_t positions = 0, taps = 0, channels = 0;
  // Positions [run_first, run_end) read the rows of position run_first, shifted by `run_step` floats from each position
  // to the next. Only the rows of run_first are taken from `rows`.
  int64_t run_first = 0, run_end = 0, run_step = 0;
  const float* divisors = nullptr;  // divisor of each position's sum; null: maximum
  bool without_nan = false;         // no row has a NaN, which saves a comparison for each element
  float* y = nullptr;               // [positions, channels]
};
void RunFloatPool(const FloatPool& pool);

}  // namespace epiphyte::cpu::simd
