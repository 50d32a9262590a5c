// Functions of one or two numbers of types other than float, over rows. Sums, differences and products of integers
// wrap.
//
//     const NumberLoop<int32_t> add(NumberFunction::kAdd);
//     add(a, 1, b, 1, y, n);        // y[i] = a[i] + b[i]; y may be a or b
//     add(a, 1, &number, 0, y, n);  // y[i] = a[i] + number
//     const NumberComparison<uint8_t> equal(Comparison::kEqual);
//     equal(a, 1, b, 1, y, n);      // y: bool; may be a or b when they are bytes
//     const NumberUnaryLoop<int64_t> abs(NumberUnary::kAbs);
//     abs(x, y, n);                 // y may be x
//     const NumberFold<uint8_t> largest(NumberFunction::kMax);
//     largest(x, n);                // of a row of at least one
//
// T: a type of kHasNumberLoops. A loop runs the variant for the target that was chosen when it was constructed
// (targets.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "plugins/cpu/simd/elementwise/binary.h"

namespace epiphyte::cpu::simd {

template <typename T>
inline constexpr bool kHasNumberLoops =
    std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t> || std::is_same_v<T, int32_t> ||
    std::is_same_v<T, uint32_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t> ||
    std::is_same_v<T, double>;

enum class NumberFunction : int32_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  // integers: towards zero; a division by zero gives zero; overflow wraps
  kMax,  // NaN if either is NaN; kMin alike
  kMin,
  kAnd,  // this and the functions below are for integers
  kOr,
  kXor,
  kShiftLeft,  // unsigned integers only; zero if the shift reaches the number's width
  kShiftRight,
  kLogicalAnd,  // bytes only; any byte but 0 is true, and the result is 1 or 0
  kLogicalOr,
  kLogicalXor,
};
inline constexpr int kNumberFunctionCount = static_cast<int>(NumberFunction::kLogicalXor) + 1;

// The numbers in the comments are errors for doubles, in units of the last place. Functions without one are correctly
// rounded.
enum class NumberUnary : int32_t {
  kAbs,  // the smallest integer gives itself
  kNeg,
  kSign,  // NaN gives NaN
  kRelu,  // NaN gives NaN
  kSquare,
  kNot,     // inverts the bits of integers; kIsZero is for integers, too
  kIsZero,  // 1 or 0
  kCeil,    // this and the functions below are for doubles
  kFloor,
  kRound,  // halves to even
  kSqrt,
  kReciprocal,
  kCube,     // 1.5
  kExp,      // 2
  kTanh,     // 2
  kSin,      // 2
  kCos,      // 2
  kSigmoid,  // 3
};
inline constexpr int kNumberUnaryCount = static_cast<int>(NumberUnary::kSigmoid) + 1;

template <typename T>
constexpr bool Takes(NumberFunction function) {
  if constexpr (!kHasNumberLoops<T>) return false;
  if (function >= NumberFunction::kLogicalAnd) return std::is_same_v<T, uint8_t>;
  if (function >= NumberFunction::kShiftLeft) return std::is_unsigned_v<T>;
  return std::is_integral_v<T> || function < NumberFunction::kAnd;
}
template <typename T>
constexpr bool Takes(NumberUnary function) {
  if constexpr (!kHasNumberLoops<T>) return false;
  if (function == NumberUnary::kNot || function == NumberUnary::kIsZero) return std::is_integral_v<T>;
  return function < NumberUnary::kNot || std::is_floating_point_v<T>;
}

// Steps are 0 or 1, not both 0 unless n is 1 or less.
template <typename T, typename R>
struct NumberRows {
  using Result = R;
  using Row = void (*)(const T* a, const T* b, R* y, int64_t n);
  Row both, first, second;

  void operator()(const T* a, int64_t a_step, const T* b, int64_t b_step, R* y, int64_t n) const {
    (a_step == 0 ? second : b_step == 0 ? first : both)(a, b, y, n);
  }
};

// For functions that Takes<T> accepts.
template <typename T>
class NumberLoop : public NumberRows<T, T> {
 public:
  explicit NumberLoop(NumberFunction function);
};
template <typename T>
class NumberComparison : public NumberRows<T, bool> {
 public:
  explicit NumberComparison(Comparison comparison);
};
template <typename T>
class NumberUnaryLoop {
 public:
  explicit NumberUnaryLoop(NumberUnary function);
  void operator()(const T* x, T* y, int64_t n) const { row_(x, y, n); }

 private:
  void (*row_)(const T* x, T* y, int64_t n);
};
// Fold of a row of integers by kAdd, kMax or kMin.
template <typename T>
class NumberFold {
 public:
  explicit NumberFold(NumberFunction function);
  T operator()(const T* x, int64_t n) const { return row_(x, n); }

 private:
  T (*row_)(const T* x, int64_t n);
};

}  // namespace epiphyte::cpu::simd
