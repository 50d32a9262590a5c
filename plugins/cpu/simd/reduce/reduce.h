// One value from a row of floats or doubles, or rows accumulated into one. The order in which values are combined is
// the same for every target.
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
  kSumOfExponentials,      // sum of exp(x - shift); not for doubles
  kSumOfSquaredDistances,  // sum of (x - shift)^2
  kLargest,                // NaN if there is one; kSmallest alike
  kSmallest,
};
inline constexpr int kReductionCount = static_cast<int>(Reduction::kSmallest) + 1;

// Runs the variant for the target that was chosen when the loop was constructed (targets.h).
template <typename T>
class ReduceLoopOf {
 public:
  explicit ReduceLoopOf(Reduction reduction);
  T operator()(const T* x, int64_t n, T shift = 0) const { return rows_.reduce(x, n, shift); }
  // `shifts` has one shift for each element; null for none.
  void Accumulate(const T* x, T* accumulators, int64_t n, const T* shifts = nullptr) const {
    rows_.accumulate(x, accumulators, n, shifts);
  }

  // Accumulates rows one after the other; their first elements are `stride` apart.
  void AccumulateRows(const T* x, int64_t stride, int64_t rows, T* accumulators, int64_t n) const {
    rows_.accumulate_rows(x, stride, rows, accumulators, n);
  }

  struct Rows {
    T (*reduce)(const T* x, int64_t n, T shift);
    void (*accumulate)(const T* x, T* accumulators, int64_t n, const T* shifts);
    void (*accumulate_rows)(const T* x, int64_t stride, int64_t rows, T* accumulators, int64_t n);
  };

 private:
  Rows rows_;
};
using ReduceLoop = ReduceLoopOf<float>;
using DoubleReduceLoop = ReduceLoopOf<double>;

}  // namespace epiphyte::cpu::simd
