// Functions of two floats, over rows. An operand with step 0 is one number for the whole row.
//
//     const simd::BinaryLoop add(simd::Binary::kAdd);
//     add(a, 1, b, 1, y, n);        // y[i] = a[i] + b[i]; y may be a or b
//     add(a, 1, &number, 0, y, n);  // y[i] = a[i] + number
//
// Call overhead dominates for short rows. Therefore a chain of functions over one such row can be one call:
//
//     const simd::BinaryStep steps[] = {{.function = simd::Binary::kMul, .second = false, .number = 2, .a = 0, .y = 1},
//                                       {.function = simd::Binary::kAdd, .a = 1, .b = 0, .y = 1}};
//     float* const places[] = {x, y};
//     simd::RunShortSteps(steps, 2, places, n);  // y[i] = 2 x[i] + x[i]; n at most ShortRow()
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace epiphyte::cpu::simd {

enum class Binary : int32_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,  // the first of two equals; NaN if either is NaN; kMin alike
  kMin,
  kPRelu,  // a b where a is below 0, otherwise a
};
inline constexpr int kBinaryCount = static_cast<int>(Binary::kPRelu) + 1;

enum class Comparison : int32_t { kEqual, kGreater, kGreaterOrEqual, kLess, kLessOrEqual };
inline constexpr int kComparisonCount = static_cast<int>(Comparison::kLessOrEqual) + 1;

// One variant of a function for each choice of operands that are rows; an operand that is no row is one number.
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

// Runs the variant for the target that was chosen when the loop was constructed (targets.h).
class BinaryLoop : public BinaryRows<float> {
 public:
  explicit BinaryLoop(Binary function);
};
class CompareLoop : public BinaryRows<bool> {
 public:
  explicit CompareLoop(Comparison comparison);
};

// places[y][i] = function(places[a][i], places[b][i]). `number` replaces an operand that isn't a row.
struct BinaryStep {
  Binary function;
  bool first = true;
  bool second = true;
  float number = 0;
  int32_t a = 0;
  int32_t b = 0;
  int32_t y = 0;
};
// The longest row that RunShortSteps takes: a vector of the chosen target.
int64_t ShortRow();
// Runs the steps in order, over rows of n elements, 0 < n <= ShortRow(). Different places must not overlap.
void RunShortSteps(const BinaryStep* steps, size_t count, float* const* places, int64_t n);

}  // namespace epiphyte::cpu::simd
