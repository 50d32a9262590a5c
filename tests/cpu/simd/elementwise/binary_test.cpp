// Functions of two floats and comparisons, on two rows or on a row and a number.
#include "plugins/cpu/simd/elementwise/binary.h"

#include <functional>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

struct BinaryCase {
  const char* name;
  Binary function;
  std::function<float(float, float)> expected;
};
const BinaryCase kBinaryCases[] = {
    {"Add", Binary::kAdd, [](float a, float b) { return a + b; }},
    {"Sub", Binary::kSub, [](float a, float b) { return a - b; }},
    {"Mul", Binary::kMul, [](float a, float b) { return a * b; }},
    {"Div", Binary::kDiv, [](float a, float b) { return a / b; }},
    {"Max", Binary::kMax, [](float a, float b) { return a != a || b != b ? kNaN
                                                        : b > a          ? b
                                                                         : a; }},
    {"Min", Binary::kMin, [](float a, float b) { return a != a || b != b ? kNaN
                                                        : b < a          ? b
                                                                         : a; }},
    {"PRelu", Binary::kPRelu, [](float a, float b) { return a < 0 ? a * b : a; }},
};
static_assert(std::size(kBinaryCases) == kBinaryCount);

struct ComparisonCase {
  const char* name;
  Comparison comparison;
  std::function<bool(float, float)> expected;
};
const ComparisonCase kComparisonCases[] = {
    {"Equal", Comparison::kEqual, [](float a, float b) { return a == b; }},
    {"Greater", Comparison::kGreater, [](float a, float b) { return a > b; }},
    {"GreaterOrEqual", Comparison::kGreaterOrEqual, [](float a, float b) { return a >= b; }},
    {"Less", Comparison::kLess, [](float a, float b) { return a < b; }},
    {"LessOrEqual", Comparison::kLessOrEqual, [](float a, float b) { return a <= b; }},
};
static_assert(std::size(kComparisonCases) == kComparisonCount);

// Ordinary numbers, with every pair of special numbers among them.
struct Operands {
  explicit Operands(int64_t n) : a(RandomFloats(n, -4, 4, 1)), b(RandomFloats(n, -4, 4, 2)) {
    const float special[] = {0.0f, -0.0f, kInfinity, -kInfinity, kNaN, 1.0f, -1.0f, 0x1p-140f};
    for (size_t i = 0; i < a.size(); i += 3) {
      a[i] = special[i / 3 % 8];
      b[i] = special[i / 24 % 8];
    }
  }
  std::vector<float> a;
  std::vector<float> b;
};

bool SameFloat(float a, float b) {
  return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

using BinaryFunctions = EachTarget;
EPIPHYTE_EACH_TARGET(BinaryFunctions);

// The result of a step is an operand of the next one, in the same buffer and in another. The other operands include
// numbers.
TEST_P(BinaryFunctions, RunInStepsOverShortRows) {
  ASSERT_GE(ShortRow(), 1);
  constexpr float kNumber = 1.5f;
  for (int64_t n = 1; n <= ShortRow(); ++n) {
    const Operands from(n);
    for (const BinaryCase& test : kBinaryCases) {
      const std::vector<BinaryStep> steps = {
          {.function = test.function, .a = 0, .b = 1, .y = 2},
          {.function = test.function, .second = false, .number = kNumber, .a = 2, .y = 2},
          {.function = Binary::kSub, .first = false, .number = kNumber, .b = 2, .y = 3},
          {.function = test.function, .a = 3, .b = 0, .y = 3},
      };
      GuardedRow<float> a(from.a), b(from.b), partial(n), y(n);
      float* const places[] = {a.data(), b.data(), partial.data(), y.data()};
      RunShortSteps(steps.data(), steps.size(), places, n);
      for (int64_t i = 0; i < n; ++i) {
        const float second = test.expected(test.expected(from.a[i], from.b[i]), kNumber);
        ASSERT_TRUE(SameFloat(partial[i], second)) << test.name << ", element " << i << " of " << n;
        const float last = test.expected(kNumber - second, from.a[i]);
        ASSERT_TRUE(SameFloat(y[i], last)) << test.name << ", element " << i << " of " << n;
      }
      ASSERT_TRUE(std::equal(from.a.begin(), from.a.end(), a.data(), SameFloat)) << test.name;
    }
  }
}

TEST_P(BinaryFunctions, GiveWhatFloatArithmeticGives) {
  for (int64_t n : Lengths()) {
    const Operands from(n);
    for (const BinaryCase& test : kBinaryCases) {
      const BinaryLoop loop(test.function);
      for (int steps = 0; steps < 4; ++steps) {
        const int64_t a_step = steps & 1, b_step = steps >> 1;
        GuardedRow<float> a(from.a), b(from.b), y(n);
        loop(a.data(), a_step, b.data(), b_step, y.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          const float expected = test.expected(a[i * a_step], b[i * b_step]);
          ASSERT_TRUE(SameFloat(y[i], expected)) << test.name << '(' << a[i * a_step] << ", " << b[i * b_step]
                                                 << ") = " << y[i] << ", element " << i << " of " << n;
        }
      }
    }
  }
}

TEST_P(BinaryFunctions, MayWriteOverEitherOperand) {
  for (int64_t n : Lengths()) {
    const Operands from(n);
    for (const BinaryCase& test : kBinaryCases) {
      const BinaryLoop loop(test.function);
      GuardedRow<float> a(from.a), b(from.b), over_a(from.a), over_b(from.b);
      loop(over_a.data(), 1, b.data(), 1, over_a.data(), n);
      loop(a.data(), 1, over_b.data(), 1, over_b.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const float expected = test.expected(a[i], b[i]);
        ASSERT_TRUE(SameFloat(over_a[i], expected)) << test.name << " over a, element " << i << " of " << n;
        ASSERT_TRUE(SameFloat(over_b[i], expected)) << test.name << " over b, element " << i << " of " << n;
      }
    }
  }
}

TEST_P(BinaryFunctions, Compare) {
  for (int64_t n : Lengths()) {
    const Operands from(n);
    for (const ComparisonCase& test : kComparisonCases) {
      const CompareLoop loop(test.comparison);
      for (int steps = 0; steps < 4; ++steps) {
        const int64_t a_step = steps & 1, b_step = steps >> 1;
        GuardedRow<float> a(from.a), b(from.b);
        GuardedRow<uint8_t> y(std::vector<uint8_t>(static_cast<size_t>(n), 0xEE));
        loop(a.data(), a_step, b.data(), b_step, reinterpret_cast<bool*>(y.data()), n);
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(y[i], test.expected(a[i * a_step], b[i * b_step]) ? 1 : 0)
              << test.name << '(' << a[i * a_step] << ", " << b[i * b_step] << "), element " << i << " of " << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
