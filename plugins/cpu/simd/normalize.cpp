#include "plugins/cpu/simd/normalize.h"

#include <cmath>
#include <cstddef>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/normalize.cpp"
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
    return Exp(d, hn::Sub(x, hn::Set(d, from)));
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

void Softmax(const float* x, float* y, int64_t n) {
  const D d;
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
