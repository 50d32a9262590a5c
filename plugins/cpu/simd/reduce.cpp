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

using Floats = hn::ScalableTag<float>;

template <Reduction kReduction, class D, class V = hn::Vec<D>>
HWY_INLINE V Value([[maybe_unused]] D d, V x, [[maybe_unused]] V shift) {
  switch (kReduction) {
    case Reduction::kSumOfMagnitudes: return hn::Abs(x);
    case Reduction::kSumOfSquares: return hn::Mul(x, x);
    case Reduction::kSumOfExponentials: return Exp(d, hn::Sub(x, shift));
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

// Calls step(d, i) for the vectors of a row, and for a half, a quarter … of one where the rest has one, each element
// once. A part that the next call reads has been written as one, so that it is read without waiting for the cache.
template <class D, class Step>
HWY_INLINE void InPieces(D d, int64_t i, int64_t n, const Step& step) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  if (kStep == static_cast<int64_t>(hn::MaxLanes(Floats()))) {
    for (; i + 4 * kStep <= n; i += 4 * kStep) {
      step(d, i);
      step(d, i + kStep);
      step(d, i + 2 * kStep);
      step(d, i + 3 * kStep);
    }
    for (; i + kStep <= n; i += kStep) step(d, i);
  } else if (i + kStep <= n) {
    step(d, i);
    i += kStep;
  }
  if constexpr (kStep > 1) {
    if (i < n) InPieces(hn::Half<D>(), i, n, step);
  }
}

template <Reduction kReduction>
struct RowOf {
  static float Reduced(const float* x, int64_t n, float shift) {
    constexpr Length kLength = kReduction == Reduction::kSumOfExponentials ? kLong : kShort;
    const auto value = [=](auto v) EPIPHYTE_INLINE {
      const hn::DFromV<decltype(v)> d;
      return Value<kReduction>(d, v, hn::Set(d, shift));
    };
    return Reduce<kLength>(Floats(), x, n, Initial<kReduction>(), value, CombinerOf<kReduction>());
  }
  static void Accumulate(const float* x, float* sums, int64_t n, const float* shifts) {
    constexpr auto kCombine = CombinerOf<kReduction>();
    // The shift matters to these only.
    if (shifts != nullptr &&
        (kReduction == Reduction::kSumOfExponentials || kReduction == Reduction::kSumOfSquaredDistances)) {
      return InPieces(Floats(), 0, n, [=](auto d, int64_t i) EPIPHYTE_INLINE {
        const auto value = Value<kReduction>(d, hn::LoadU(d, x + i), hn::LoadU(d, shifts + i));
        hn::StoreU(kCombine(hn::LoadU(d, sums + i), value), d, sums + i);
      });
    }
    InPieces(Floats(), 0, n, [=](auto d, int64_t i) EPIPHYTE_INLINE {
      const auto value = Value<kReduction>(d, hn::LoadU(d, x + i), hn::Zero(d));
      hn::StoreU(kCombine(hn::LoadU(d, sums + i), value), d, sums + i);
    });
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
