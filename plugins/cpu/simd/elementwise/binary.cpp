#include "plugins/cpu/simd/elementwise/binary.h"

#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/elementwise/binary.cpp"
#include "plugins/cpu/simd/target/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/reduce-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
static_assert(sizeof(bool) == 1);

template <Binary kFunction>
struct Function {
  using Result = float;
  HWY_INLINE V operator()(V a, V b) const {
    switch (kFunction) {
      case Binary::kAdd: return hn::Add(a, b);
      case Binary::kSub: return hn::Sub(a, b);
      case Binary::kMul: return hn::Mul(a, b);
      case Binary::kDiv: return hn::Div(a, b);
      case Binary::kMax: return Greater()(a, b);
      case Binary::kMin: return Smaller()(a, b);
      case Binary::kPRelu: {
        const V x = InRegister(a);
        return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), hn::Mul(x, b), x);
      }
    }
  }
};

template <Comparison kComparison>
HWY_INLINE hn::Mask<D> Compared(V a, V b) {
  switch (kComparison) {
    case Comparison::kEqual: return hn::Eq(a, b);
    case Comparison::kGreater: return hn::Gt(a, b);
    case Comparison::kGreaterOrEqual: return hn::Ge(a, b);
    case Comparison::kLess: return hn::Lt(a, b);
    case Comparison::kLessOrEqual: return hn::Le(a, b);
  }
}
template <Comparison kComparison>
struct Compare {
  using Result = bool;
  HWY_INLINE hn::Mask<D> operator()(V a, V b) const { return Compared<kComparison>(a, b); }
};

template <class F>
struct RowsOf {
  using Result = typename F::Result;

  template <class Values>
  static HWY_INLINE void Each(Result* y, int64_t n, const Values& values) {
    if constexpr (std::is_same_v<Result, bool>) {
      MakeBools(D(), y, n, values);
    } else {
      Make(D(), y, n, values);
    }
  }
  static void Both(const float* a, const float* b, Result* y, int64_t n) {
    Each(y, n, [=](const auto& load) EPIPHYTE_INLINE { return F()(load(D(), a), load(D(), b)); });
  }
  static void First(const float* a, const float* b, Result* y, int64_t n) {
    const V number = hn::Set(D(), *b);
    Each(y, n, [=](const auto& load) EPIPHYTE_INLINE { return F()(load(D(), a), number); });
  }
  static void Second(const float* a, const float* b, Result* y, int64_t n) {
    const V number = hn::Set(D(), *a);
    Each(y, n, [=](const auto& load) EPIPHYTE_INLINE { return F()(number, load(D(), b)); });
  }
  static constexpr BinaryRows<Result> kRows = {&Both, &First, &Second};
};

template <int... kFunctions>
const BinaryRows<float>& Pick(Binary function, std::integer_sequence<int, kFunctions...>) {
  static constexpr const BinaryRows<float>* kRows[] = {&RowsOf<Function<static_cast<Binary>(kFunctions)>>::kRows...};
  return *kRows[static_cast<int>(function)];
}
template <int... kComparisons>
const BinaryRows<bool>& Pick(Comparison comparison, std::integer_sequence<int, kComparisons...>) {
  static constexpr const BinaryRows<bool>* kRows[] = {
      &RowsOf<Compare<static_cast<Comparison>(kComparisons)>>::kRows...};
  return *kRows[static_cast<int>(comparison)];
}
const BinaryRows<float>& BinaryRowsOf(Binary function) {
  return Pick(function, std::make_integer_sequence<int, kBinaryCount>());
}
const BinaryRows<bool>& CompareRowsOf(Comparison comparison) {
  return Pick(comparison, std::make_integer_sequence<int, kComparisonCount>());
}

// Runs the steps over one row of at most a vector; `row` loads and stores it (see Make).
template <class Row>
HWY_INLINE void RunSteps(const BinaryStep* steps, size_t count, float* const* places, const Row& row) {
  for (const BinaryStep* step = steps; step != steps + count; ++step) {
    const V a = step->first ? row(D(), places[step->a]) : hn::Set(D(), step->number);
    const V b = step->second ? row(D(), places[step->b]) : hn::Set(D(), step->number);
    float* const y = places[step->y];
    // These are comparisons rather than a switch. CPUs predict comparisons from their history, but for the jump of a
    // table some only remember the last target. Each comparison is hidden from the compiler, which would make a table
    // of them.
    int function = static_cast<int>(step->function);
    const auto is = [&function](Binary other) EPIPHYTE_INLINE {
      asm("" : "+r"(function));
      return function == static_cast<int>(other);
    };
    if (is(Binary::kMul)) {
      row.Store(D(), Function<Binary::kMul>()(a, b), y);
    } else if (is(Binary::kAdd)) {
      row.Store(D(), Function<Binary::kAdd>()(a, b), y);
    } else if (is(Binary::kSub)) {
      row.Store(D(), Function<Binary::kSub>()(a, b), y);
    } else if (is(Binary::kMax)) {
      row.Store(D(), Function<Binary::kMax>()(a, b), y);
    } else if (is(Binary::kMin)) {
      row.Store(D(), Function<Binary::kMin>()(a, b), y);
    } else if (is(Binary::kDiv)) {
      row.Store(D(), Function<Binary::kDiv>()(a, b), y);
    } else {
      row.Store(D(), Function<Binary::kPRelu>()(a, b), y);
    }
  }
}
template <size_t kElements>
HWY_INLINE bool RunStepsOf(const BinaryStep* steps, size_t count, float* const* places, int64_t n) {
  if constexpr (kElements <= hn::MaxLanes(D())) {
    if (n == static_cast<int64_t>(kElements)) {
      RunSteps(steps, count, places, Exactly<kElements>());
      return true;
    }
  }
  return false;
}
void RunShort(const BinaryStep* steps, size_t count, float* const* places, int64_t n) {
  if (RunStepsOf<1>(steps, count, places, n) || RunStepsOf<2>(steps, count, places, n) ||
      RunStepsOf<4>(steps, count, places, n) || RunStepsOf<8>(steps, count, places, n) ||
      RunStepsOf<16>(steps, count, places, n)) {
    return;
  }
  if constexpr (hn::MaxLanes(D()) > 2) RunSteps(steps, count, places, Remainder<hn::MaxLanes(D())>{n});
}
int64_t ShortRowOf() { return static_cast<int64_t>(hn::MaxLanes(D())); }

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(BinaryRowsOf);
EPIPHYTE_EXPORT(CompareRowsOf);
BinaryLoop::BinaryLoop(Binary function) : BinaryRows(EPIPHYTE_DISPATCH(BinaryRowsOf)(function)) {}
CompareLoop::CompareLoop(Comparison comparison) : BinaryRows(EPIPHYTE_DISPATCH(CompareRowsOf)(comparison)) {}

EPIPHYTE_EXPORT(RunShort);
EPIPHYTE_EXPORT(ShortRowOf);
void RunShortSteps(const BinaryStep* steps, size_t count, float* const* places, int64_t n) {
  EPIPHYTE_DISPATCH(RunShort)(steps, count, places, n);
}
int64_t ShortRow() { return EPIPHYTE_DISPATCH(ShortRowOf)(); }

}  // namespace epiphyte::cpu::simd
#endif
