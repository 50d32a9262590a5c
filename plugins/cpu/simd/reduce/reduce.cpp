#include "plugins/cpu/simd/reduce/reduce.h"

#include <limits>
#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/reduce/reduce.cpp"
#include "plugins/cpu/simd/target/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/reduce-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

template <Reduction kReduction, class D, class V = hn::Vec<D>>
HWY_INLINE V Value([[maybe_unused]] D d, V x, [[maybe_unused]] V shift) {
  if constexpr (kReduction == Reduction::kSumOfMagnitudes) {
    return hn::Abs(x);
  } else if constexpr (kReduction == Reduction::kSumOfSquares) {
    return hn::Mul(x, x);
  } else if constexpr (kReduction == Reduction::kSumOfExponentials) {
    return Exp(d, hn::Sub(x, shift));
  } else if constexpr (kReduction == Reduction::kSumOfSquaredDistances) {
    const V distance = hn::Sub(x, shift);
    return hn::Mul(distance, distance);
  } else {
    return x;
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

template <Reduction kReduction, typename T>
constexpr T Initial() {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  return kReduction == Reduction::kProduct    ? T(1)
         : kReduction == Reduction::kLargest  ? -kInfinity
         : kReduction == Reduction::kSmallest ? kInfinity
                                              : T(0);
}

// Calls step(d, i) for each vector of a row, then for a half, a quarter … of a vector as the rest needs, each element
// once. Each part is stored with the size that the next call loads, so that the load needn't wait for the cache.
template <class D, class Step>
HWY_INLINE void InPieces(D d, int64_t i, int64_t n, const Step& step) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  if (kStep == static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<hn::TFromD<D>>()))) {
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

// Accumulates neighbouring columns of rows; the results stay in registers.
template <Reduction kReduction, int kVectors, class D, typename T = hn::TFromD<D>>
HWY_INLINE void AccumulateColumns(D d, const T* x, int64_t stride, int64_t rows, T* sums) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr auto kCombine = CombinerOf<kReduction>();
  hn::Vec<D> columns[kVectors];
  for (int v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, sums + v * kStep);
  for (int64_t r = 0; r < rows; ++r, x += stride)
    for (int v = 0; v < kVectors; ++v)
      columns[v] = kCombine(columns[v], Value<kReduction>(d, hn::LoadU(d, x + v * kStep), hn::Zero(d)));
  for (int v = 0; v < kVectors; ++v) hn::StoreU(columns[v], d, sums + v * kStep);
}

template <Reduction kReduction, class D, typename T = hn::TFromD<D>>
HWY_INLINE void AccumulateBelow(D d, const T* x, int64_t stride, int64_t rows, T* sums, int64_t n) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  int64_t i = 0;
  if (kStep == static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()))) {
    for (; i + 4 * kStep <= n; i += 4 * kStep) AccumulateColumns<kReduction, 4>(d, x + i, stride, rows, sums + i);
    if (i + 2 * kStep <= n) {
      AccumulateColumns<kReduction, 2>(d, x + i, stride, rows, sums + i);
      i += 2 * kStep;
    }
  }
  if (i + kStep <= n) {
    AccumulateColumns<kReduction, 1>(d, x + i, stride, rows, sums + i);
    i += kStep;
  }
  if constexpr (kStep > 1) {
    if (i < n) AccumulateBelow<kReduction>(hn::Half<D>(), x + i, stride, rows, sums + i, n - i);
  }
}

template <Reduction kReduction, typename T>
struct RowOf {
  using Tag = hn::ScalableTag<T>;

  static T Reduced(const T* x, int64_t n, T shift) {
    constexpr Length kLength = kReduction == Reduction::kSumOfExponentials ? kLong : kShort;
    const auto value = [=](auto v) EPIPHYTE_INLINE {
      const hn::DFromV<decltype(v)> d;
      return Value<kReduction>(d, v, hn::Set(d, shift));
    };
    return Reduce<kLength>(Tag(), x, n, Initial<kReduction, T>(), value, CombinerOf<kReduction>());
  }
  static void Accumulate(const T* x, T* sums, int64_t n, const T* shifts) {
    constexpr auto kCombine = CombinerOf<kReduction>();
    // Only these reductions use the shift.
    if (shifts != nullptr &&
        (kReduction == Reduction::kSumOfExponentials || kReduction == Reduction::kSumOfSquaredDistances)) {
      return InPieces(Tag(), 0, n, [=](auto d, int64_t i) EPIPHYTE_INLINE {
        const auto value = Value<kReduction>(d, hn::LoadU(d, x + i), hn::LoadU(d, shifts + i));
        hn::StoreU(kCombine(hn::LoadU(d, sums + i), value), d, sums + i);
      });
    }
    InPieces(Tag(), 0, n, [=](auto d, int64_t i) EPIPHYTE_INLINE {
      const auto value = Value<kReduction>(d, hn::LoadU(d, x + i), hn::Zero(d));
      hn::StoreU(kCombine(hn::LoadU(d, sums + i), value), d, sums + i);
    });
  }
  static void AccumulateRows(const T* x, int64_t stride, int64_t rows, T* sums, int64_t n) {
    AccumulateBelow<kReduction>(Tag(), x, stride, rows, sums, n);
  }
};

template <Reduction kReduction, typename T>
constexpr typename ReduceLoopOf<T>::Rows RowsOf() {
  if constexpr (kReduction == Reduction::kSumOfExponentials && std::is_same_v<T, double>) {
    return {nullptr, nullptr, nullptr};
  } else {
    return {&RowOf<kReduction, T>::Reduced, &RowOf<kReduction, T>::Accumulate, &RowOf<kReduction, T>::AccumulateRows};
  }
}
template <typename T, int... kReductions>
HWY_INLINE typename ReduceLoopOf<T>::Rows Pick(Reduction reduction, std::integer_sequence<int, kReductions...>) {
  static constexpr typename ReduceLoopOf<T>::Rows kRows[] = {RowsOf<static_cast<Reduction>(kReductions), T>()...};
  return kRows[static_cast<int>(reduction)];
}
ReduceLoopOf<float>::Rows FloatRows(Reduction reduction) {
  return Pick<float>(reduction, std::make_integer_sequence<int, kReductionCount>());
}
ReduceLoopOf<double>::Rows DoubleRows(Reduction reduction) {
  return Pick<double>(reduction, std::make_integer_sequence<int, kReductionCount>());
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(FloatRows);
EPIPHYTE_EXPORT(DoubleRows);
template <>
ReduceLoopOf<float>::ReduceLoopOf(Reduction reduction) : rows_(EPIPHYTE_DISPATCH(FloatRows)(reduction)) {}
template <>
ReduceLoopOf<double>::ReduceLoopOf(Reduction reduction) : rows_(EPIPHYTE_DISPATCH(DoubleRows)(reduction)) {}

}  // namespace epiphyte::cpu::simd
#endif
