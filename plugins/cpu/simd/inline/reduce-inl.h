// One value from many: sums, extremes. The order in which values are combined is the same for every target:
// kReduceLanes side by side, then those by halves. Runs of kReduceRun keep the rounding errors of long sums small.
//
//     const float sum = Reduce(d, x, n, 0.0f, [](auto v) { return v; }, Plus());
//     const float dot = Reduce(d, a, b, n, 0.0f, [](auto p, auto q) { return hn::Mul(p, q); }, Plus());
//
// Both functions take vectors of any length. `initial` combined with any value gives that value. Up to kFew elements of
// a row are combined one after the other, because joining lanes would take longer. This doesn't apply if the first
// function is a long one.
#if defined(EPIPHYTE_SIMD_REDUCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_REDUCE_INL_H
#undef EPIPHYTE_SIMD_REDUCE_INL_H
#else
#define EPIPHYTE_SIMD_REDUCE_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plugins/cpu/simd/inline/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Plus {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Times {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Mul(a, b);
  }
};
// The greater or the smaller value, the first of equals; NaN if either is NaN.
struct Greater {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
#if HWY_ARCH_X86
    // hn::Max gives the second of equals, and the second of a NaN and a number.
    return hn::IfThenElse(hn::IsNaN(b), b, hn::Max(b, a));
#else
    return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
#endif
  }
};
struct Smaller {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
#if HWY_ARCH_X86
    return hn::IfThenElse(hn::IsNaN(b), b, hn::Min(b, a));
#else
    return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
#endif
  }
};

inline constexpr int64_t kReduceLanes = 32;
inline constexpr int64_t kReduceRun = 4096;

// The lanes of one vector, by halves.
template <class D, class Combine>
HWY_INLINE hn::TFromD<D> JoinLanes(D, hn::Vec<D> v, const Combine& combine) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    return JoinLanes(half, combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), combine);
  }
}

// Reduces a row of 0 < n <= kVectors * kStep elements in kVectors vectors, which `load` and `part` give. The vectors
// are joined by halves. Lanes beyond the row keep the value of `start`.
template <int64_t kVectors, class D, class Load, class Part, class Combine, class V = hn::Vec<D>>
HWY_INLINE V FoldShort(D d, int64_t n, V start, const Load& load, const Part& part, const Combine& combine) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  if constexpr (kVectors == 1) {
    if (n == kStep) return load(0);
    const auto rest = static_cast<size_t>(n);
    return hn::IfThenElse(hn::FirstN(d, rest), part(0, rest), start);
  } else {
    constexpr int64_t kHalf = kVectors / 2;
    if (n <= kHalf * kStep) return FoldShort<kHalf>(d, n, start, load, part, combine);
    V lanes[kHalf];
    for (int64_t v = 0; v < kHalf; ++v) lanes[v] = load(v * kStep);
    for (int64_t v = 0, i = kHalf * kStep; v < kHalf && i < n; ++v, i += kStep) {
      if (i + kStep <= n) {
        lanes[v] = combine(lanes[v], load(i));
      } else {
        const auto rest = static_cast<size_t>(n - i);
        lanes[v] = hn::IfThenElse(hn::FirstN(d, rest), combine(lanes[v], part(i, rest)), lanes[v]);
      }
    }
    for (int64_t width = kHalf / 2; width > 0; width /= 2) {
      for (int64_t v = 0; v < width; ++v) lanes[v] = combine(lanes[v], lanes[v + width]);
    }
    return lanes[0];
  }
}

// load(i) gives the vector of the values from i on. part(i, rest) gives one in which the first `rest` values count.
// Each is called once, in this order.
template <class D, class Load, class Part, class Combine>
HWY_INLINE hn::TFromD<D> ReduceBy(D d, int64_t n, hn::TFromD<D> initial, const Load& load, const Part& part,
                                  const Combine& combine) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr int64_t kVectors = kReduceLanes / kStep;
  const V start = hn::Set(d, initial);
  const auto join = [=](T total, V lanes) HWY_ATTR {
    return hn::GetLane(combine(hn::Set(d, total), hn::Set(d, JoinLanes(d, lanes, combine))));
  };
  if (n <= 0) return initial;
  if (n <= kReduceLanes) return join(initial, FoldShort<kVectors>(d, n, start, load, part, combine));
  T total = initial;
  for (int64_t i = 0; i < n;) {
    const int64_t end = std::min(n, i + kReduceRun);
    V lanes[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) lanes[v] = start;
    for (; i + kReduceLanes <= end; i += kReduceLanes) {
      for (int64_t v = 0; v < kVectors; ++v) lanes[v] = combine(lanes[v], load(i + v * kStep));
    }
    for (int64_t v = 0; v < kVectors && i < end; ++v, i += kStep) {
      if (i + kStep <= end) {
        lanes[v] = combine(lanes[v], load(i));
      } else {
        const auto rest = static_cast<size_t>(end - i);
        lanes[v] = hn::IfThenElse(hn::FirstN(d, rest), combine(lanes[v], part(i, rest)), lanes[v]);
      }
    }
    i = end;
    for (int64_t width = kVectors / 2; width > 0; width /= 2) {
      for (int64_t v = 0; v < width; ++v) lanes[v] = combine(lanes[v], lanes[v + width]);
    }
    total = join(total, lanes[0]);
  }
  return total;
}

template <Length kLength = kShort, class D, class F, class Combine, class T = hn::TFromD<D>>
HWY_INLINE T Reduce(D d, const T* x, int64_t n, hn::TFromD<D> initial, const F& f, const Combine& combine) {
  if (n <= static_cast<int64_t>(kFew)) {
    if constexpr (kLength == kShort) {
      const hn::CappedTag<T, 1> one;
      auto total = hn::Set(one, initial);
      for (int64_t i = 0; i < n; ++i) total = combine(total, f(hn::LoadU(one, x + i)));
      return hn::GetLane(total);
    } else if constexpr (hn::MaxLanes(D()) > kFew) {
      return Reduce<kLong>(hn::CappedTag<T, kFew>(), x, n, initial, f, combine);
    }
  }
  return ReduceBy(
      d, n, initial, [=](int64_t i) { return f(hn::LoadU(d, x + i)); },
      [=](int64_t i, size_t rest) { return f(LoadPart(d, x + i, rest)); }, combine);
}

template <class D, class F, class Combine, class T = hn::TFromD<D>>
HWY_INLINE T Reduce(D d, const T* a, const T* b, int64_t n, hn::TFromD<D> initial, const F& f, const Combine& combine) {
  return ReduceBy(
      d, n, initial, [=](int64_t i) { return f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)); },
      [=](int64_t i, size_t rest) { return f(LoadPart(d, a + i, rest), LoadPart(d, b + i, rest)); }, combine);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
