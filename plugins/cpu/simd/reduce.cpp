#include "plugins/cpu/simd/reduce.h"

#include <limits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/reduce.cpp"
#include "plugins/cpu/simd/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/dispatch.h"
#include "plugins/cpu/simd/math-inl.h"
#include "plugins/cpu/simd/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

template <Reduction kReduction>
HWY_INLINE V Value(V x, V shift) {
  switch (kReduction) {
    case Reduction::kSumOfMagnitudes: return hn::Abs(x);
    case Reduction::kSumOfSquares: return hn::Mul(x, x);
    case Reduction::kSumOfExponentials: return Exp(D(), hn::Sub(x, shift));
    case Reduction::kSumOfSquaredDistances: {
      const V distance = hn::Sub(x, shift);
      return hn::Mul(distance, distance);
    }
    default: return x;
  }
}

template <Reduction kReduction>
constexpr auto CombinerOf() {
  if constexpr (kReduction == Reduction::kProduct) {
    return Times();
  } else if constexpr (kReduction == Reduction::kLargest) {
    return Greater();
  } else if constexpr (kReduction == Reduction::kSmallest) {
    return Smaller();
  } else {
    return Plus();
  }
}

template <Reduction kReduction>
constexpr float Initial() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return kReduction == Reduction::kProduct    ? 1.0f
         : kReduction == Reduction::kLargest  ? -kInfinity
         : kReduction == Reduction::kSmallest ? kInfinity
                                              : 0.0f;
}

template <Reduction kReduction>
struct RowOf {
  static float Reduced(const float* x, int64_t n, float shift) {
    const V shifts = hn::Set(D(), shift);
    return Reduce(
        D(), x, n, Initial<kReduction>(), [=](V v) { return Value<kReduction>(v, shifts); }, CombinerOf<kReduction>());
  }
  static void Accumulate(const float* x, float* accumulators, int64_t n, const float* shifts) {
    constexpr auto kCombine = CombinerOf<kReduction>();
    // The shift matters to these only.
    if (shifts != nullptr &&
        (kReduction == Reduction::kSumOfExponentials || kReduction == Reduction::kSumOfSquaredDistances)) {
      return Map(D(), accumulators, x, shifts, accumulators, n,
                 [=](V sum, V v, V shift) { return kCombine(sum, Value<kReduction>(v, shift)); });
    }
    const V none = hn::Zero(D());
    Map(D(), accumulators, x, accumulators, n, [=](V sum, V v) { return kCombine(sum, Value<kReduction>(v, none)); });
  }
};

struct Pointers {
  float (*reduce)(const float*, int64_t, float);
  void (*accumulate)(const float*, float*, int64_t, const float*);
};
template <int... kReductions>
Pointers Pick(Reduction reduction, std::integer_sequence<int, kReductions...>) {
  static constexpr Pointers kRows[] = {{&RowOf<static_cast<Reduction>(kReductions)>::Reduced,
                                        &RowOf<static_cast<Reduction>(kReductions)>::Accumulate}...};
  return kRows[static_cast<int>(reduction)];
}
float (*ReduceOf(Reduction reduction))(const float*, int64_t, float) {
  return Pick(reduction, std::make_integer_sequence<int, kReductionCount>()).reduce;
}
void (*AccumulateOf(Reduction reduction))(const float*, float*, int64_t, const float*) {
  return Pick(reduction, std::make_integer_sequence<int, kReductionCount>()).accumulate;
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(ReduceOf);
EPIPHYTE_EXPORT(AccumulateOf);
ReduceLoop::ReduceLoop(Reduction reduction)
    : reduce_(EPIPHYTE_DISPATCH(ReduceOf)(reduction)), accumulate_(EPIPHYTE_DISPATCH(AccumulateOf)(reduction)) {}

}  // namespace epiphyte::cpu::simd
#endif
