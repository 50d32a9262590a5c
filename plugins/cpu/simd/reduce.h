// One value of a row of floats or doubles, or rows folded into one another. The order in which values are combined is
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
  kSumOfExponentials,      // of exp(x - shift); not of doubles
  kSumOfSquaredDistances,  // of (x - shift)^2
  kLargest,                // NaN if there is one, as for kSmallest
  kSmallest,
};
inline constexpr int kReductionCount = static_cast<int>(Reduction::kSmallest) + 1;

// In the variant for the target that was chosen when it was made (targets.h).
template <typename T>
class ReduceLoopOf {
 public:
  explicit ReduceLoopOf(Reduction reduction);
  T operator()(const T* x, int64_t n, T shift = 0) const { return rows_.reduce(x, n, shift); }
  // `shifts`: of each element, or null for none.
  void Accumulate(const T* x, T* accumulators, int64_t n, const T* shifts = nullptr) const {
    rows_.accumulate(x, accumulators, n, shifts);
  }

  // The same of rows whose first elements are `stride` apart, one after the other.
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
