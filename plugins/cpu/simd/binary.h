// Functions of two floats each, over rows. An operand whose step is 0 is one number for all of the row.
//
//     const simd::BinaryLoop add(simd::Binary::kAdd);
//     add(a, 1, b, 1, y, n);        // y[i] = a[i] + b[i]; y may be a or b
//     add(a, 1, &number, 0, y, n);  // y[i] = a[i] + number
#pragma once

#include <algorithm>
#include <cstdint>

namespace epiphyte::cpu::simd {

enum class Binary : int32_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,  // the first one of equals; NaN if either is, as for kMin
  kMin,
  kPRelu,  // a b where a is below 0, otherwise a
};
inline constexpr int kBinaryCount = static_cast<int>(Binary::kPRelu) + 1;

enum class Comparison : int32_t { kEqual, kGreater, kGreaterOrEqual, kLess, kLessOrEqual };
inline constexpr int kComparisonCount = static_cast<int>(Comparison::kLessOrEqual) + 1;

// The variants of a function by which operands are rows; the others are one number.
template <typename R>
struct BinaryRows {
  using Row = void (*)(const float* a, const float* b, R* y, int64_t n);
  Row both;
  Row first;
  Row second;

  // Steps are 0 or 1.
  void operator()(const float* a, int64_t a_step, const float* b, int64_t b_step, R* y, int64_t n) const {
    if (a_step != 0 && b_step != 0) return both(a, b, y, n);
    if (n <= 0) return;
    if (a_step != 0) return first(a, b, y, n);
    if (b_step != 0) return second(a, b, y, n);
    first(a, b, y, 1);
    std::fill_n(y + 1, n - 1, *y);
  }
};

// In the variant for the target that was chosen when it was made (targets.h).
class BinaryLoop : public BinaryRows<float> {
 public:
  explicit BinaryLoop(Binary function);
};
class CompareLoop : public BinaryRows<bool> {
 public:
  explicit CompareLoop(Comparison comparison);
};

}  // namespace epiphyte::cpu::simd
