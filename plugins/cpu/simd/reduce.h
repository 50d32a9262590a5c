// One value of a row of floats, or rows folded into one another. The order in which values are combined is the same for
// every target.
//
//     const simd::ReduceLoop sum(simd::Reduction::kSum);
//     float total = sum(x, n);               // of a row
//     sum.Accumulate(x, accumulators, n);    // accumulators[i] += x[i]
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

enum class Reduction : int32_t {
  kSum,
  kProduct,
  kSumOfMagnitudes,
  kSumOfSquares,
  kSumOfExponentials,      // of exp(x - shift)
  kSumOfSquaredDistances,  // of (x - shift)^2
  kLargest,                // NaN if there is one, as for kSmallest
  kSmallest,
};
inline constexpr int kReductionCount = static_cast<int>(Reduction::kSmallest) + 1;

// In the variant for the target that was chosen when it was made (targets.h).
class ReduceLoop {
 public:
  explicit ReduceLoop(Reduction reduction);
  float operator()(const float* x, int64_t n, float shift = 0) const { return reduce_(x, n, shift); }
  // `shifts`: of each element, or null for none.
  void Accumulate(const float* x, float* accumulators, int64_t n, const float* shifts = nullptr) const {
    accumulate_(x, accumulators, n, shifts);
  }

 private:
  float (*reduce_)(const float* x, int64_t n, float shift);
  void (*accumulate_)(const float* x, float* accumulators, int64_t n, const float* shifts);
};

}  // namespace epiphyte::cpu::simd
