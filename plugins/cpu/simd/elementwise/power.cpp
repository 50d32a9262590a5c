#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/elementwise/power.cpp"
#include "plugins/cpu/simd/elementwise/power.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/math_parts-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Floats = hn::Rebind<float, Doubles>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Doubles()));

// The binary logarithm of positive normal numbers, to a relative error of 2^-38.
HWY_INLINE hn::Vec<Doubles> Log2(hn::Vec<Floats> x) {
  const Doubles d;
  const Floats f;
  const hn::RebindToSigned<Floats> fi;
  // x = 2^e m, sqrt(1/2) <= m < sqrt(2); log(m) = 2 artanh(s), s = (m - 1) / (m + 1).
  const auto root = hn::Set(fi, 0x3F3504F3);
  const auto shifted = hn::Sub(hn::BitCast(fi, x), root);
  const auto e = hn::PromoteTo(d, hn::ShiftRight<23>(shifted));
  const auto m = hn::PromoteTo(d, hn::BitCast(f, hn::Add(hn::And(shifted, hn::Set(fi, 0x7FFFFF)), root)));
  const auto one = hn::Set(d, 1.0);
  const auto s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const auto z = hn::Mul(s, s);
  const auto p = Polynomial(d, z, 2 / 13.0, 2 / 11.0, 2 / 9.0, 2 / 7.0, 2 / 5.0, 2 / 3.0, 2.0);
  return hn::MulAdd(hn::Mul(s, p), hn::Set(d, 1.4426950408889634), e);
}

// 2^t to a relative error of 2^-31, for results that are normal floats.
HWY_INLINE hn::Vec<Doubles> Exp2(hn::Vec<Doubles> t) {
  const Doubles d;
  const hn::RebindToSigned<Doubles> di;
  const auto round = hn::Set(d, 0x1.8p52);  // adding it leaves the nearest integer in the low bits
  const auto shifted = hn::Add(t, round);
  const auto r = hn::Mul(hn::Sub(t, hn::Sub(shifted, round)), hn::Set(d, 0.6931471805599453));
  const auto p = Polynomial(d, r, 1 / 40320.0, 1 / 5040.0, 1 / 720.0, 1 / 120.0, 1 / 24.0, 1 / 6.0, 0.5, 1.0, 1.0);
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<52>(hn::BitCast(di, shifted))));
}

void PowerRow(const float* base, int64_t base_step, const float* exponent, int64_t exponent_step, float* y, int64_t n) {
  const Doubles d;
  const Floats f;
  const auto load = [f](const float* from, int64_t step, int64_t i, int64_t count) HWY_ATTR {
    if (step == 0) return hn::Set(f, *from);
    return count == kLanes ? hn::LoadU(f, from + i) : LoadPart(f, from + i, static_cast<size_t>(count));
  };
  // The fast way needs a positive, normal, finite base and an exponent with a normal, finite result.
  const auto least = hn::Set(f, std::numeric_limits<float>::min()),
             most = hn::Set(f, std::numeric_limits<float>::max());
  const auto range = hn::Set(d, 125.0);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = std::min(kLanes, n - i);
    const auto b = load(base, base_step, i, count), e = load(exponent, exponent_step, i, count);
    const auto t = hn::Mul(Log2(b), hn::PromoteTo(d, e));
    const bool plain =
        hn::AllTrue(f, hn::Or(hn::And(hn::Ge(b, least), hn::Le(b, most)),
                              hn::Not(hn::FirstN(f, static_cast<size_t>(count))))) &&
        hn::AllTrue(d, hn::Or(hn::Lt(hn::Abs(t), range), hn::Not(hn::FirstN(d, static_cast<size_t>(count)))));
    if (HWY_LIKELY(plain)) {
      const auto result = hn::DemoteTo(f, Exp2(t));
      if (count == kLanes) {
        hn::StoreU(result, f, y + i);
      } else {
        StorePart(f, result, y + i, static_cast<size_t>(count));
      }
      continue;
    }
    for (int64_t j = i; j < i + count; ++j) y[j] = std::pow(base[j * base_step], exponent[j * exponent_step]);
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(PowerRow);
void PowerRow(const float* base, int64_t base_step, const float* exponent, int64_t exponent_step, float* y, int64_t n) {
  EPIPHYTE_DISPATCH(PowerRow)(base, base_step, exponent, exponent_step, y, n);
}

}  // namespace epiphyte::cpu::simd
#endif
