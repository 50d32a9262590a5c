#include "plugins/cpu/simd/elementwise/number_rows.h"

#include <cmath>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/elementwise/number_rows.cpp"
#include "plugins/cpu/simd/target/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"
// double_math-inl.h must follow the headers that it uses.
#include "plugins/cpu/simd/inline/double_math-inl.h"

// Most loops are so plain that the compiler vectorises them for each target. A result may replace an operand element
// for element, which is no dependence between iterations.
#if defined(__clang__)
#define EPIPHYTE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define EPIPHYTE_INDEPENDENT _Pragma("GCC ivdep")
#endif

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

template <NumberFunction kFunction, typename T>
struct FunctionOf {
  using Result = T;
  HWY_INLINE T operator()(T a, T b) const {
    using W = std::conditional_t<std::is_floating_point_v<T>, T,
                                 std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;  // wraps
    const W wide_a = static_cast<W>(a), wide_b = static_cast<W>(b);
    if constexpr (kFunction == NumberFunction::kAdd) {
      return static_cast<T>(wide_a + wide_b);
    } else if constexpr (kFunction == NumberFunction::kSub) {
      return static_cast<T>(wide_a - wide_b);
    } else if constexpr (kFunction == NumberFunction::kMul) {
      return static_cast<T>(wide_a * wide_b);
    } else if constexpr (kFunction == NumberFunction::kDiv) {
      return Quotient(a, b);
    } else if constexpr (kFunction == NumberFunction::kMax) {
      return ((a >= b) | (a != a)) ? a : b;
    } else if constexpr (kFunction == NumberFunction::kMin) {
      return ((a <= b) | (a != a)) ? a : b;
    } else if constexpr (kFunction == NumberFunction::kAnd) {
      return static_cast<T>(a & b);
    } else if constexpr (kFunction == NumberFunction::kOr) {
      return static_cast<T>(a | b);
    } else if constexpr (kFunction == NumberFunction::kXor) {
      return static_cast<T>(a ^ b);
    } else if constexpr (kFunction == NumberFunction::kLogicalAnd) {
      return static_cast<T>((a != 0) & (b != 0));
    } else if constexpr (kFunction == NumberFunction::kLogicalOr) {
      return static_cast<T>((a | b) != 0);
    } else if constexpr (kFunction == NumberFunction::kLogicalXor) {
      return static_cast<T>((a != 0) != (b != 0));
    } else {
      constexpr T kBits = 8 * sizeof(T);
      const W shifted =
          kFunction == NumberFunction::kShiftLeft ? wide_a << (wide_b % kBits) : wide_a >> (wide_b % kBits);
      return b < kBits ? static_cast<T>(shifted) : T(0);
    }
  }
  static HWY_INLINE T Quotient(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else if constexpr (sizeof(T) < 8) {
      // A double holds both operands and gives the same truncated quotient; doubles are divided by vectors.
      const double quotient = static_cast<double>(a) / static_cast<double>(b == 0 ? T(1) : b);
      const auto whole = static_cast<T>(static_cast<int64_t>(quotient));
      return b == 0 ? T(0) : whole;
    } else {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
      return a / b;
    }
  }
};
template <Comparison kComparison, typename T>
struct ComparisonOf {
  using Result = bool;
  HWY_INLINE bool operator()(T a, T b) const {
    switch (kComparison) {
      case Comparison::kEqual: return a == b;
      case Comparison::kGreater: return a > b;
      case Comparison::kGreaterOrEqual: return a >= b;
      case Comparison::kLess: return a < b;
      case Comparison::kLessOrEqual: return a <= b;
    }
  }
};
template <NumberUnary kFunction, typename T>
struct UnaryOf {
  HWY_INLINE T operator()(T x) const {
    if constexpr (kFunction == NumberUnary::kAbs) {
      return std::is_floating_point_v<T> ? static_cast<T>(std::fabs(x)) : x < 0 ? Negative(x) : x;
    } else if constexpr (kFunction == NumberUnary::kNeg) {
      return Negative(x);
    } else if constexpr (kFunction == NumberUnary::kSign) {
      const T sign = static_cast<T>((x > 0) - (x < 0));
      return x != x ? x : sign;
    } else if constexpr (kFunction == NumberUnary::kRelu) {
      return x < 0 ? T(0) : x;
    } else if constexpr (kFunction == NumberUnary::kSquare) {
      return FunctionOf<NumberFunction::kMul, T>()(x, x);
    } else if constexpr (kFunction == NumberUnary::kNot) {
      return static_cast<T>(~x);
    } else if constexpr (kFunction == NumberUnary::kIsZero) {
      return static_cast<T>(x == 0);
    } else if constexpr (kFunction == NumberUnary::kCeil) {
      return std::ceil(x);
    } else if constexpr (kFunction == NumberUnary::kFloor) {
      return std::floor(x);
    } else if constexpr (kFunction == NumberUnary::kRound) {
      return std::nearbyint(x);
    } else if constexpr (kFunction == NumberUnary::kSqrt) {
      return std::sqrt(x);
    } else if constexpr (kFunction == NumberUnary::kReciprocal) {
      return 1 / x;
    } else {
      static_assert(kFunction == NumberUnary::kCube);
      return x * x * x;
    }
  }
  static HWY_INLINE T Negative(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(U(0) - static_cast<U>(x));
    }
  }
};

template <class F, typename T>
struct RowsOf {
  using R = typename F::Result;
  static void Both(const T* a, const T* b, R* y, int64_t n) {
    EPIPHYTE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = F()(a[i], b[i]);
  }
  static void First(const T* a, const T* b, R* y, int64_t n) {
    if (n <= 0) return;
    const T number = *b;
    EPIPHYTE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = F()(a[i], number);
  }
  static void Second(const T* a, const T* b, R* y, int64_t n) {
    if (n <= 0) return;
    const T number = *a;
    EPIPHYTE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = F()(number, b[i]);
  }
  static constexpr NumberRows<T, R> kRows = {&Both, &First, &Second};
};

template <NumberUnary kFunction, typename T>
void UnaryRow(const T* x, T* y, int64_t n) {
  if constexpr (kFunction == NumberUnary::kExp) {
    Map<kLong>(hn::ScalableTag<double>(), x, y, n,
               [](auto v) EPIPHYTE_INLINE { return double_math::Exp(hn::DFromV<decltype(v)>(), v); });
  } else if constexpr (kFunction == NumberUnary::kTanh) {
    Map<kLong>(hn::ScalableTag<double>(), x, y, n,
               [](auto v) EPIPHYTE_INLINE { return double_math::Tanh(hn::DFromV<decltype(v)>(), v); });
  } else if constexpr (kFunction == NumberUnary::kSin) {
    Map<kLong>(hn::ScalableTag<double>(), x, y, n,
               [](auto v) EPIPHYTE_INLINE { return double_math::Sin(hn::DFromV<decltype(v)>(), v); });
  } else if constexpr (kFunction == NumberUnary::kCos) {
    Map<kLong>(hn::ScalableTag<double>(), x, y, n,
               [](auto v) EPIPHYTE_INLINE { return double_math::Cos(hn::DFromV<decltype(v)>(), v); });
  } else if constexpr (kFunction == NumberUnary::kSigmoid) {
    Map<kLong>(hn::ScalableTag<double>(), x, y, n,
               [](auto v) EPIPHYTE_INLINE { return double_math::Sigmoid(hn::DFromV<decltype(v)>(), v); });
  } else {
    EPIPHYTE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = UnaryOf<kFunction, T>()(x[i]);
  }
}

template <NumberFunction kFunction, class V>
HWY_INLINE V Folded(V a, V b) {
  if constexpr (kFunction == NumberFunction::kAdd) {
    return hn::Add(a, b);
  } else if constexpr (kFunction == NumberFunction::kMax) {
    return hn::Max(a, b);
  } else {
    return hn::Min(a, b);
  }
}
// Folds n elements, at least as many as D has lanes and fewer than twice as many. The elements beyond `lanes` are
// folded into the lanes, then one half of the lanes into the other half.
template <NumberFunction kFunction, class D, typename T = hn::TFromD<D>>
HWY_INLINE T FoldLanes(D d, hn::Vec<D> lanes, const T* x, int64_t n) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  if (n >= kStep) {
    lanes = Folded<kFunction>(lanes, hn::LoadU(d, x));
    x += kStep;
    n -= kStep;
  }
  if constexpr (kStep == 1) {
    return hn::GetLane(lanes);
  } else {
    const hn::Half<D> half;
    return FoldLanes<kFunction>(half, Folded<kFunction>(hn::LowerHalf(half, lanes), hn::UpperHalf(half, lanes)), x, n);
  }
}
// Folds by four vectors side by side, which don't wait for each other.
template <NumberFunction kFunction, class D, typename T = hn::TFromD<D>>
HWY_INLINE T FoldVectors(D d, const T* x, int64_t n) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  if (n < kStep) {
    if constexpr (kStep > 1) return FoldVectors<kFunction>(hn::Half<D>(), x, n);
  }
  hn::Vec<D> first = hn::LoadU(d, x);
  int64_t i = kStep;
  if (n >= 4 * kStep) {
    hn::Vec<D> second = hn::LoadU(d, x + kStep);
    hn::Vec<D> third = hn::LoadU(d, x + 2 * kStep), fourth = hn::LoadU(d, x + 3 * kStep);
    for (i = 4 * kStep; i + 4 * kStep <= n; i += 4 * kStep) {
      first = Folded<kFunction>(first, hn::LoadU(d, x + i));
      second = Folded<kFunction>(second, hn::LoadU(d, x + i + kStep));
      third = Folded<kFunction>(third, hn::LoadU(d, x + i + 2 * kStep));
      fourth = Folded<kFunction>(fourth, hn::LoadU(d, x + i + 3 * kStep));
    }
    first = Folded<kFunction>(Folded<kFunction>(first, second), Folded<kFunction>(third, fourth));
  }
  for (; i + kStep <= n; i += kStep) first = Folded<kFunction>(first, hn::LoadU(d, x + i));
  return FoldLanes<kFunction>(d, first, x + i, n - i);
}
template <NumberFunction kFunction, typename T>
T FoldRow(const T* x, int64_t n) {
  return FoldVectors<kFunction>(hn::ScalableTag<T>(), x, n);
}

template <NumberFunction kFunction, typename T>
constexpr const NumberRows<T, T>* FunctionRows() {
  if constexpr (Takes<T>(kFunction)) {
    return &RowsOf<FunctionOf<kFunction, T>, T>::kRows;
  } else {
    return nullptr;
  }
}
template <NumberUnary kFunction, typename T>
constexpr auto UnaryRows() -> void (*)(const T*, T*, int64_t) {
  if constexpr (Takes<T>(kFunction)) {
    return &UnaryRow<kFunction, T>;
  } else {
    return nullptr;
  }
}

template <typename T, int... kFunctions>
const NumberRows<T, T>& Pick(NumberFunction function, std::integer_sequence<int, kFunctions...>) {
  static constexpr const NumberRows<T, T>* kRows[] = {FunctionRows<static_cast<NumberFunction>(kFunctions), T>()...};
  return *kRows[static_cast<int>(function)];
}
template <typename T, int... kComparisons>
const NumberRows<T, bool>& Pick(Comparison comparison, std::integer_sequence<int, kComparisons...>) {
  static constexpr const NumberRows<T, bool>* kRows[] = {
      &RowsOf<ComparisonOf<static_cast<Comparison>(kComparisons), T>, T>::kRows...};
  return *kRows[static_cast<int>(comparison)];
}
template <typename T, int... kFunctions>
auto Pick(NumberUnary function, std::integer_sequence<int, kFunctions...>) {
  static constexpr void (*kRows[])(const T*, T*, int64_t) = {UnaryRows<static_cast<NumberUnary>(kFunctions), T>()...};
  return kRows[static_cast<int>(function)];
}

template <typename T>
struct NumberTables {
  const NumberRows<T, T>& Of(NumberFunction function) const {
    return Pick<T>(function, std::make_integer_sequence<int, kNumberFunctionCount>());
  }
  const NumberRows<T, bool>& Of(Comparison comparison) const {
    return Pick<T>(comparison, std::make_integer_sequence<int, kComparisonCount>());
  }
  auto Of(NumberUnary function) const {
    return Pick<T>(function, std::make_integer_sequence<int, kNumberUnaryCount>());
  }
  auto Fold(NumberFunction function) const {
    return function == NumberFunction::kAdd   ? &FoldRow<NumberFunction::kAdd, T>
           : function == NumberFunction::kMax ? &FoldRow<NumberFunction::kMax, T>
                                              : &FoldRow<NumberFunction::kMin, T>;
  }
};
#define EPIPHYTE_INTEGER_TYPES(_) \
  _(Int8, int8_t)                 \
  _(Uint8, uint8_t) _(Int32, int32_t) _(Uint32, uint32_t) _(Int64, int64_t) _(Uint64, uint64_t)
#define EPIPHYTE_NUMBER_TYPES(_) EPIPHYTE_INTEGER_TYPES(_) _(Double, double)
#define EPIPHYTE_NUMBER_TYPE(Name, T)                                                               \
  const NumberRows<T, T>& Name##FunctionRows(NumberFunction f) { return NumberTables<T>().Of(f); }  \
  const NumberRows<T, bool>& Name##ComparisonRows(Comparison f) { return NumberTables<T>().Of(f); } \
  void (*Name##UnaryRow(NumberUnary f))(const T*, T*, int64_t) { return NumberTables<T>().Of(f); }
EPIPHYTE_NUMBER_TYPES(EPIPHYTE_NUMBER_TYPE)
#undef EPIPHYTE_NUMBER_TYPE
#define EPIPHYTE_INTEGER_TYPE(Name, T) \
  T (*Name##FoldRow(NumberFunction f))(const T*, int64_t) { return NumberTables<T>().Fold(f); }
EPIPHYTE_INTEGER_TYPES(EPIPHYTE_INTEGER_TYPE)
#undef EPIPHYTE_INTEGER_TYPE

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#undef EPIPHYTE_INDEPENDENT

#if HWY_ONCE
namespace epiphyte::cpu::simd {

#define EPIPHYTE_NUMBER_TYPE(Name, T)                                                                         \
  EPIPHYTE_EXPORT(Name##FunctionRows);                                                                        \
  EPIPHYTE_EXPORT(Name##ComparisonRows);                                                                      \
  EPIPHYTE_EXPORT(Name##UnaryRow);                                                                            \
  template <>                                                                                                 \
  NumberLoop<T>::NumberLoop(NumberFunction f) : NumberRows<T, T>(EPIPHYTE_DISPATCH(Name##FunctionRows)(f)) {} \
  template <>                                                                                                 \
  NumberComparison<T>::NumberComparison(Comparison f)                                                         \
      : NumberRows<T, bool>(EPIPHYTE_DISPATCH(Name##ComparisonRows)(f)) {}                                    \
  template <>                                                                                                 \
  NumberUnaryLoop<T>::NumberUnaryLoop(NumberUnary f) : row_(EPIPHYTE_DISPATCH(Name##UnaryRow)(f)) {}
EPIPHYTE_NUMBER_TYPES(EPIPHYTE_NUMBER_TYPE)
#undef EPIPHYTE_NUMBER_TYPE
#define EPIPHYTE_INTEGER_TYPE(Name, T) \
  EPIPHYTE_EXPORT(Name##FoldRow);      \
  template <>                          \
  NumberFold<T>::NumberFold(NumberFunction f) : row_(EPIPHYTE_DISPATCH(Name##FoldRow)(f)) {}
EPIPHYTE_INTEGER_TYPES(EPIPHYTE_INTEGER_TYPE)
#undef EPIPHYTE_INTEGER_TYPE

}  // namespace epiphyte::cpu::simd
#endif
#undef EPIPHYTE_NUMBER_TYPES
#undef EPIPHYTE_INTEGER_TYPES
