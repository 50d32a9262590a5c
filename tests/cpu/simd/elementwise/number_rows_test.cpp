// Functions of integers and of doubles, compared with functions of wider types.
#include "plugins/cpu/simd/elementwise/number_rows.h"

#include <functional>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using Wide = __int128;

// Small integers, of which many are equal, and the bounds of the type.
template <typename T>
std::vector<T> Integers(int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) {
    const uint64_t bits = random();
    value = bits % 7 == 0   ? std::numeric_limits<T>::min()
            : bits % 7 == 1 ? std::numeric_limits<T>::max()
            : bits % 7 < 4  ? static_cast<T>(bits >> 8)
                            : static_cast<T>((bits >> 8) % 5);
  }
  return values;
}

// The product of two unsigned 64-bit numbers may overflow Wide; it wraps around.
Wide Product(Wide a, Wide b) {
  using Wrapping = unsigned __int128;
  return static_cast<Wide>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
}

struct FunctionCase {
  const char* name;
  NumberFunction function;
  std::function<Wide(Wide, Wide)> expected;
};
const FunctionCase kFunctions[] = {
    {"Add", NumberFunction::kAdd, [](Wide a, Wide b) { return a + b; }},
    {"Sub", NumberFunction::kSub, [](Wide a, Wide b) { return a - b; }},
    {"Mul", NumberFunction::kMul, Product},
    {"Div", NumberFunction::kDiv, [](Wide a, Wide b) { return b == 0 ? 0 : a / b; }},
    {"Max", NumberFunction::kMax, [](Wide a, Wide b) { return std::max(a, b); }},
    {"Min", NumberFunction::kMin, [](Wide a, Wide b) { return std::min(a, b); }},
    {"And", NumberFunction::kAnd, [](Wide a, Wide b) { return a & b; }},
    {"Or", NumberFunction::kOr, [](Wide a, Wide b) { return a | b; }},
    {"Xor", NumberFunction::kXor, [](Wide a, Wide b) { return a ^ b; }},
    {"ShiftLeft", NumberFunction::kShiftLeft, [](Wide a, Wide b) { return b < 64 ? a << b : 0; }},
    {"ShiftRight", NumberFunction::kShiftRight, [](Wide a, Wide b) { return b < 64 ? a >> b : 0; }},
    {"LogicalAnd", NumberFunction::kLogicalAnd, [](Wide a, Wide b) { return Wide(a != 0 && b != 0); }},
    {"LogicalOr", NumberFunction::kLogicalOr, [](Wide a, Wide b) { return Wide(a != 0 || b != 0); }},
    {"LogicalXor", NumberFunction::kLogicalXor, [](Wide a, Wide b) { return Wide((a != 0) != (b != 0)); }}};
struct ComparisonCase {
  const char* name;
  Comparison comparison;
  std::function<bool(Wide, Wide)> expected;
};
const ComparisonCase kComparisons[] = {
    {"Equal", Comparison::kEqual, [](Wide a, Wide b) { return a == b; }},
    {"Greater", Comparison::kGreater, [](Wide a, Wide b) { return a > b; }},
    {"GreaterOrEqual", Comparison::kGreaterOrEqual, [](Wide a, Wide b) { return a >= b; }},
    {"Less", Comparison::kLess, [](Wide a, Wide b) { return a < b; }},
    {"LessOrEqual", Comparison::kLessOrEqual, [](Wide a, Wide b) { return a <= b; }}};
struct UnaryCase {
  const char* name;
  NumberUnary function;
  std::function<Wide(Wide)> expected;
};
const UnaryCase kUnaries[] = {{"Abs", NumberUnary::kAbs, [](Wide x) { return x < 0 ? -x : x; }},
                              {"Neg", NumberUnary::kNeg, [](Wide x) { return -x; }},
                              {"Sign", NumberUnary::kSign, [](Wide x) { return Wide((x > 0) - (x < 0)); }},
                              {"Not", NumberUnary::kNot, [](Wide x) { return ~x; }},
                              {"Relu", NumberUnary::kRelu, [](Wide x) { return x < 0 ? 0 : x; }},
                              {"Square", NumberUnary::kSquare, [](Wide x) { return Product(x, x); }},
                              {"IsZero", NumberUnary::kIsZero, [](Wide x) { return Wide(x == 0); }}};

template <typename T>
class IntegerRowsOf : public ::testing::Test {};
using IntegerTypes = ::testing::Types<int8_t, uint8_t, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(IntegerRowsOf, IntegerTypes);

TYPED_TEST(IntegerRowsOf, TwoOperandsAreThoseOfWiderIntegersCutOff) {
  using T = TypeParam;
  for (const std::string& target : SupportedTargets()) {
    const TargetChoice choice(target);
    for (int64_t n : Lengths()) {
      GuardedRow<T> a(Integers<T>(n, 1)), b(Integers<T>(n, 2)), one(Integers<T>(1, static_cast<unsigned>(n)));
      for (const FunctionCase& test : kFunctions) {
        if (!Takes<T>(test.function)) continue;
        const NumberLoop<T> loop(test.function);
        GuardedRow<T> both(n), first(n), second(n), over_a(a.values()), over_b(b.values());
        loop(a.data(), 1, b.data(), 1, both.data(), n);
        loop(a.data(), 1, one.data(), 0, first.data(), n);
        loop(one.data(), 0, b.data(), 1, second.data(), n);
        loop(over_a.data(), 1, b.data(), 1, over_a.data(), n);
        loop(a.data(), 1, over_b.data(), 1, over_b.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          SCOPED_TRACE(::testing::Message() << test.name << " on " << target << ", element " << i << " of " << n);
          ASSERT_EQ(both[i], static_cast<T>(test.expected(a[i], b[i])));
          ASSERT_EQ(first[i], static_cast<T>(test.expected(a[i], one[0])));
          ASSERT_EQ(second[i], static_cast<T>(test.expected(one[0], b[i])));
          ASSERT_EQ(over_a[i], both[i]);
          ASSERT_EQ(over_b[i], both[i]);
        }
      }
    }
  }
}

TYPED_TEST(IntegerRowsOf, ComparisonsGiveBooleans) {
  using T = TypeParam;
  for (const std::string& target : SupportedTargets()) {
    const TargetChoice choice(target);
    for (int64_t n : Lengths()) {
      GuardedRow<T> a(Integers<T>(n, 1)), b(Integers<T>(n, 2)), one(Integers<T>(1, static_cast<unsigned>(n)));
      for (const ComparisonCase& test : kComparisons) {
        const NumberComparison<T> loop(test.comparison);
        GuardedRow<uint8_t> both(n), first(n), second(n);
        const auto bools = [](GuardedRow<uint8_t>& row) { return reinterpret_cast<bool*>(row.data()); };
        loop(a.data(), 1, b.data(), 1, bools(both), n);
        loop(a.data(), 1, one.data(), 0, bools(first), n);
        loop(one.data(), 0, b.data(), 1, bools(second), n);
        for (int64_t i = 0; i < n; ++i) {
          SCOPED_TRACE(::testing::Message() << test.name << " on " << target << ", element " << i << " of " << n);
          ASSERT_EQ(both[i], test.expected(a[i], b[i]) ? 1 : 0);
          ASSERT_EQ(first[i], test.expected(a[i], one[0]) ? 1 : 0);
          ASSERT_EQ(second[i], test.expected(one[0], b[i]) ? 1 : 0);
        }
      }
    }
  }
}

TYPED_TEST(IntegerRowsOf, OneOperandIsThatOfWiderIntegersCutOff) {
  using T = TypeParam;
  for (const std::string& target : SupportedTargets()) {
    const TargetChoice choice(target);
    for (int64_t n : Lengths()) {
      for (const UnaryCase& test : kUnaries) {
        const NumberUnaryLoop<T> loop(test.function);
        GuardedRow<T> x(Integers<T>(n, 3)), y(n), over(x.values());
        loop(x.data(), y.data(), n);
        loop(over.data(), over.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          SCOPED_TRACE(::testing::Message() << test.name << " on " << target << ", element " << i << " of " << n);
          ASSERT_EQ(y[i], static_cast<T>(test.expected(x[i])));
          ASSERT_EQ(over[i], y[i]);
        }
      }
    }
  }
}

TYPED_TEST(IntegerRowsOf, ARowIsFolded) {
  using T = TypeParam;
  for (const std::string& target : SupportedTargets()) {
    const TargetChoice choice(target);
    for (int64_t n = 1; n < 600; n += n < 140 ? 1 : 61) {
      GuardedRow<T> row(Integers<T>(n, 4));
      const std::vector<T> x = row.values();
      SCOPED_TRACE(::testing::Message() << n << " on " << target);
      ASSERT_EQ(NumberFold<T>(NumberFunction::kMax)(row.data(), n), *std::max_element(x.begin(), x.end()));
      ASSERT_EQ(NumberFold<T>(NumberFunction::kMin)(row.data(), n), *std::min_element(x.begin(), x.end()));
      Wide sum = 0;
      for (const T number : x) sum += number;
      ASSERT_EQ(NumberFold<T>(NumberFunction::kAdd)(row.data(), n), static_cast<T>(sum));
      // Each element in turn is the largest, so that a skipped element is noticed.
      const NumberFold<T> largest(NumberFunction::kMax);
      std::vector<T> low(x.size(), T(3));
      for (size_t i = 0; i < low.size(); ++i) {
        low[i] = T(4);
        ASSERT_EQ(largest(low.data(), n), T(4)) << "element " << i;
        low[i] = T(3);
      }
    }
  }
}

// Doubles that include halfway cases, very large and very small numbers, infinities, NaN and both zeros.
std::vector<double> Doubles(int64_t n, unsigned seed) {
  constexpr double kSpecial[] = {0.0,   -0.0, 0.5, -0.5,  1.5, 2.5,  0x1p52, 0x1.8p60, 0x1p-1074, 1e308, -1e308,
                                 0.625, 20,   -20, 709.5, 710, -745, -746,   INFINITY, -INFINITY, NAN};
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 4);
  std::vector<double> values(static_cast<size_t>(n));
  for (double& value : values) value = random() % 5 == 0 ? kSpecial[random() % std::size(kSpecial)] : normal(random);
  return values;
}
// Returns the error in units of the last place of the expected double.
double Error(double found, long double expected) {
  const auto rounded = static_cast<double>(expected);
  if (std::isnan(rounded) || std::isnan(found)) return std::isnan(rounded) == std::isnan(found) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(found)) return rounded == found ? 0 : INFINITY;
  if (expected == 0) return found == 0 && std::signbit(found) == std::signbit(rounded) ? 0 : INFINITY;
  const int exponent = std::max(std::ilogb(rounded == 0 ? 0x1p-1022 : rounded), -1022);
  return static_cast<double>(std::fabs(static_cast<long double>(found) - expected) / std::ldexp(1.0L, exponent - 52));
}

using DoubleRows = EachTarget;
EPIPHYTE_EACH_TARGET(DoubleRows);

TEST_P(DoubleRows, TwoOperandsAreWhatPlainArithmeticGives) {
  struct Case {
    NumberFunction function;
    double (*expected)(double, double);
  };
  const Case cases[] = {
      {NumberFunction::kAdd, [](double a, double b) { return a + b; }},
      {NumberFunction::kSub, [](double a, double b) { return a - b; }},
      {NumberFunction::kMul, [](double a, double b) { return a * b; }},
      {NumberFunction::kDiv, [](double a, double b) { return a / b; }},
      {NumberFunction::kMax, [](double a, double b) { return a != a || b != b ? NAN
                                                             : a > b          ? a
                                                             : b > a          ? b
                                                                              : a; }},
      {NumberFunction::kMin, [](double a, double b) {
         return a != a || b != b ? NAN : a < b ? a : b < a ? b : a;
       }}};
  for (int64_t n : Lengths()) {
    GuardedRow<double> a(Doubles(n, 1)), b(Doubles(n, 2));
    for (const double one : {3.0, -0.0, static_cast<double>(NAN)}) {
      for (const Case& test : cases) {
        const NumberLoop<double> loop(test.function);
        GuardedRow<double> both(n), first(n), second(n), over_a(a.values()), over_b(b.values());
        loop(a.data(), 1, b.data(), 1, both.data(), n);
        loop(a.data(), 1, &one, 0, first.data(), n);
        loop(&one, 0, b.data(), 1, second.data(), n);
        loop(over_a.data(), 1, b.data(), 1, over_a.data(), n);
        loop(a.data(), 1, over_b.data(), 1, over_b.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          SCOPED_TRACE(::testing::Message() << static_cast<int>(test.function) << ", element " << i << " of " << n);
          ASSERT_EQ(Error(both[i], test.expected(a[i], b[i])), 0);
          ASSERT_EQ(Error(first[i], test.expected(a[i], one)), 0);
          ASSERT_EQ(Error(second[i], test.expected(one, b[i])), 0);
          ASSERT_EQ(Error(over_a[i], both[i]), 0);
          ASSERT_EQ(Error(over_b[i], both[i]), 0);
        }
      }
    }
  }
}

TEST_P(DoubleRows, ComparisonsWithNaNAreFalse) {
  for (int64_t n : Lengths()) {
    GuardedRow<double> a(Doubles(n, 1)), b(Doubles(n, 2));
    const auto expect = [&](Comparison comparison, bool (*expected)(double, double)) {
      GuardedRow<uint8_t> y(n);
      const NumberComparison<double> loop(comparison);
      loop(a.data(), 1, b.data(), 1, reinterpret_cast<bool*>(y.data()), n);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], expected(a[i], b[i]) ? 1 : 0) << a[i] << ", " << b[i];
    };
    expect(Comparison::kEqual, [](double p, double q) { return p == q; });
    expect(Comparison::kGreater, [](double p, double q) { return p > q; });
    expect(Comparison::kGreaterOrEqual, [](double p, double q) { return p >= q; });
    expect(Comparison::kLess, [](double p, double q) { return p < q; });
    expect(Comparison::kLessOrEqual, [](double p, double q) { return p <= q; });
  }
}

TEST_P(DoubleRows, OneOperandKeepsToItsErrorBound) {
  struct Case {
    const char* name;
    NumberUnary function;
    long double (*expected)(long double);
    double units;
  };
  const Case cases[] = {
      {"Abs", NumberUnary::kAbs, [](long double x) { return std::fabs(x); }, 0},
      {"Neg", NumberUnary::kNeg, [](long double x) { return -x; }, 0},
      {"Sign", NumberUnary::kSign, [](long double x) { return x != x  ? x
                                                              : x > 0 ? 1
                                                              : x < 0 ? -1
                                                                      : 0.0L; }, 0},
      {"Relu", NumberUnary::kRelu, [](long double x) { return x < 0 ? 0 : x; }, 0},
      {"Square", NumberUnary::kSquare, [](long double x) { return x * x; }, 0.5},
      {"Ceil", NumberUnary::kCeil, [](long double x) { return std::ceil(x); }, 0},
      {"Floor", NumberUnary::kFloor, [](long double x) { return std::floor(x); }, 0},
      {"Round", NumberUnary::kRound, [](long double x) { return std::nearbyint(x); }, 0},
      {"Sqrt", NumberUnary::kSqrt, [](long double x) { return std::sqrt(x); }, 0.51},
      {"Reciprocal", NumberUnary::kReciprocal, [](long double x) { return 1 / x; }, 0.51},
      {"Cube", NumberUnary::kCube, [](long double x) { return x * x * x; }, 1.5},
      {"Exp", NumberUnary::kExp, [](long double x) { return std::exp(x); }, 2},
      {"Tanh", NumberUnary::kTanh, [](long double x) { return std::tanh(x); }, 2},
      {"Sin", NumberUnary::kSin, [](long double x) { return std::sin(x); }, 2},
      {"Cos", NumberUnary::kCos, [](long double x) { return std::cos(x); }, 2},
      {"Sigmoid", NumberUnary::kSigmoid,
       [](long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }, 3}};
  for (int64_t n : Lengths()) {
    for (const Case& test : cases) {
      const NumberUnaryLoop<double> loop(test.function);
      GuardedRow<double> x(Doubles(n, 3)), y(n), over(x.values());
      loop(x.data(), y.data(), n);
      loop(over.data(), over.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        SCOPED_TRACE(::testing::Message() << test.name << '(' << x[i] << "), element " << i << " of " << n);
        ASSERT_LE(Error(y[i], test.expected(x[i])), test.units) << y[i];
        ASSERT_EQ(Error(over[i], y[i]), 0);
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
