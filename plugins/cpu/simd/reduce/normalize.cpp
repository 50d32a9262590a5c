#include "plugins/cpu/simd/reduce/normalize.h"

#include <cmath>
#include <cstddef>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/reduce/normalize.cpp"
#include "plugins/cpu/simd/target/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/reduce-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

struct Same {
  template <class X>
  HWY_INLINE X operator()(X x) const {
    return x;
  }
};
struct SquaredDistance {
  float from;
  template <class X>
  HWY_INLINE X operator()(X x) const {
    const X distance = hn::Sub(x, hn::Set(hn::DFromV<X>(), from));
    return hn::Mul(distance, distance);
  }
};
struct ExpOfDistance {
  float from;
  template <class X>
  HWY_INLINE X operator()(X x) const {
    const hn::DFromV<X> d;
    return ExpOfMasked(d, hn::Sub(x, hn::Set(d, from)));
  }
};

float Sum(const float* x, int64_t n) { return Reduce(D(), x, n, 0.0f, Same(), Plus()); }

float Largest(const float* x, int64_t n) {
  return Reduce(D(), x, n, -std::numeric_limits<float>::infinity(), Same(), Greater());
}

float SumOfSquaredDistances(const float* x, int64_t n, float from) {
  return Reduce(D(), x, n, 0.0f, SquaredDistance{from}, Plus());
}

void Affine(const float* x, float* y, int64_t n, float factor, float offset) {
  const V factors = hn::Set(D(), factor), offsets = hn::Set(D(), offset);
  Map(D(), x, y, n, [=](V v) EPIPHYTE_INLINE { return hn::MulAdd(v, factors, offsets); });
}

void Normalize(const float* x, float* y, int64_t n, float mean, float inverse, const float* scale, const float* bias) {
  const V means = hn::Set(D(), mean), inverses = hn::Set(D(), inverse);
  const auto normalized = [=](V v, V scales)
                              EPIPHYTE_INLINE { return hn::Mul(hn::Mul(hn::Sub(v, means), inverses), scales); };
  if (bias == nullptr) return Map(D(), x, scale, y, n, normalized);
  Map(D(), x, scale, bias, y, n, [=](V v, V scales, V biases) EPIPHYTE_INLINE {
    return hn::MulAdd(hn::Mul(hn::Sub(v, means), inverses), scales, biases);
  });
}

// A row that fits into a vector of D.
template <class D>
HWY_INLINE void ShortSoftmax(D d, const float* x, float* y, size_t n) {
  using V = hn::Vec<D>;
  const auto counts = hn::FirstN(d, n);
  const V v = n == hn::MaxLanes(d) ? hn::LoadU(d, x) : LoadPart(d, x, n);
  const V lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const float largest = JoinLanes(d, hn::IfThenElse(counts, v, lowest), Greater());
  const V exponentials = ExpOfDistance{largest}(v);
  const float sum = JoinLanes(d, hn::IfThenElseZero(counts, exponentials), Plus());
  const V softmax = hn::Mul(exponentials, hn::Set(d, 1.0f / sum));
  if (n == hn::MaxLanes(d)) return hn::StoreU(softmax, d, y);
  StorePart(d, softmax, y, n);
}

// A row of kVectors whole vectors, which stay in registers. Sums have the order of ReduceBy.
template <int kVectors>
HWY_INLINE void HeldSoftmax(const float* x, float* y) {
  const D d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr int kChains = static_cast<int>(HWY_MAX(kReduceLanes / kLanes, 1));
  V values[kVectors];
  for (int v = 0; v < kVectors; ++v) values[v] = hn::LoadU(d, x + v * kLanes);
  V most[kVectors];
  for (int v = 0; v < kVectors; ++v) most[v] = values[v];
  for (int width = kVectors; width > 1; width = (width + 1) / 2)
    for (int v = 0; v < width / 2; ++v) most[v] = Greater()(most[v], most[v + (width + 1) / 2]);
  const ExpOfDistance exponential{JoinLanes(d, most[0], Greater())};
  for (int v = 0; v < kVectors; ++v) values[v] = exponential(values[v]);
  V sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = c < kVectors ? values[c] : hn::Zero(d);
  for (int v = kChains; v < kVectors; ++v) sums[v % kChains] = hn::Add(sums[v % kChains], values[v]);
  for (int width = kChains / 2; width > 0; width /= 2)
    for (int c = 0; c < width; ++c) sums[c] = hn::Add(sums[c], sums[c + width]);
  const V factor = hn::Set(d, 1.0f / JoinLanes(d, sums[0], Plus()));
  for (int v = 0; v < kVectors; ++v) hn::StoreU(hn::Mul(values[v], factor), d, y + v * kLanes);
}
// Returns false for rows of other lengths.
HWY_INLINE bool SoftmaxOfFewVectors(const float* x, float* y, int64_t n) {
#if HWY_CAP_GE512
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  if (n % kLanes != 0) return false;
  switch (n / kLanes) {
    case 2: return HeldSoftmax<2>(x, y), true;
    case 3: return HeldSoftmax<3>(x, y), true;
    case 4: return HeldSoftmax<4>(x, y), true;
    case 6: return HeldSoftmax<6>(x, y), true;
    case 8: return HeldSoftmax<8>(x, y), true;
    default: break;
  }
#endif
  (void)x, (void)y, (void)n;
  return false;
}

void Softmax(const float* x, float* y, int64_t n) {
  const D d;
  if (SoftmaxOfFewVectors(x, y, n)) return;
  const hn::CappedTag<float, kFew> few;
  if (n <= 0) return;
  if (n <= static_cast<int64_t>(hn::MaxLanes(few))) return ShortSoftmax(few, x, y, static_cast<size_t>(n));
  if (n <= static_cast<int64_t>(hn::MaxLanes(d))) return ShortSoftmax(d, x, y, static_cast<size_t>(n));
  const ExpOfDistance exponential{Largest(x, n)};
  const float sum = ReduceBy(
      d, n, 0.0f,
      [=](int64_t i) {
        const V v = exponential(hn::LoadU(d, x + i));
        hn::StoreU(v, d, y + i);
        return v;
      },
      [=](int64_t i, size_t rest) {
        const V v = exponential(LoadPart(d, x + i, rest));
        StorePart(d, v, y + i, rest);
        return v;
      },
      Plus());
  const V factor = hn::Set(d, 1.0f / sum);
  Map(d, y, y, n, [=](V v) EPIPHYTE_INLINE { return hn::Mul(v, factor); });
}

void LogSoftmax(const float* x, float* y, int64_t n) {
  const D d;
  const float shift = Largest(x, n);
  const V largest = hn::Set(d, shift);
  const V log = hn::Set(d, std::log(Reduce<kLong>(d, x, n, 0.0f, ExpOfDistance{shift}, Plus())));
  Map(d, x, y, n, [=](V v) EPIPHYTE_INLINE { return hn::Sub(hn::Sub(v, largest), log); });
}

const NormalizeLoops& Loops() {
  static constexpr NormalizeLoops kLoops = {&Sum,     &Largest,   &SumOfSquaredDistances, &Affine, &Normalize,
                                            &Softmax, &LogSoftmax};
  return kLoops;
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(Loops);
const NormalizeLoops& ChosenNormalizeLoops() { return EPIPHYTE_DISPATCH(Loops)(); }

}  // namespace epiphyte::cpu::simd
#endif
