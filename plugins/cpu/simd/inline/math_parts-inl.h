// Building blocks of the functions of floats (math-inl.h), of doubles (double_math-inl.h) and of powers (power.cpp).
#if defined(EPIPHYTE_SIMD_MATH_PARTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_MATH_PARTS_INL_H
#undef EPIPHYTE_SIMD_MATH_PARTS_INL_H
#else
#define EPIPHYTE_SIMD_MATH_PARTS_INL_H
#endif

#include <cmath>
#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V HornerStep(D, V, V sum) {
  return sum;
}
template <class D, class V = hn::Vec<D>, typename... Rest>
HWY_INLINE V HornerStep(D d, V x, V sum, hn::TFromD<D> next, Rest... rest) {
  return HornerStep(d, x, hn::MulAdd(sum, x, hn::Set(d, next)), rest...);
}
// The polynomial with the coefficients of x^n, x^(n-1) … 1.
template <class D, class V = hn::Vec<D>, typename... Rest>
HWY_INLINE V Polynomial(D d, V x, hn::TFromD<D> first, Rest... rest) {
  return HornerStep(d, x, hn::Set(d, first), rest...);
}

// The sine of an angle that is a number of quarter turns plus a rest, from the sine and the cosine of the rest.
template <class D, class I, class V = hn::Vec<D>>
HWY_INLINE V SineOfQuarters(D d, I quarters, V sine, V cosine) {
  const hn::RebindToSigned<D> di;
  const auto odd = hn::RebindMask(d, hn::Eq(hn::And(quarters, hn::Set(di, 1)), hn::Set(di, 1)));
  constexpr int kToSign = static_cast<int>(sizeof(hn::TFromD<D>)) * 8 - 2;
  const V sign = hn::BitCast(d, hn::ShiftLeft<kToSign>(hn::And(quarters, hn::Set(di, 2))));
  return hn::Xor(hn::IfThenElse(odd, cosine, sine), sign);
}

// `y` is the sine or cosine of `x`, for angles below `most`. Greater angles, infinities and NaN go to the standard
// library.
template <bool kSine, class D, class V = hn::Vec<D>>
HWY_INLINE V WithAnglesBeyond(D d, V x, V y, hn::TFromD<D> most) {
  if (HWY_LIKELY(hn::AllTrue(d, hn::Lt(hn::Abs(x), hn::Set(d, most))))) return y;
  constexpr size_t kLanes = hn::MaxLanes(D());
  HWY_ALIGN hn::TFromD<D> angles[kLanes], results[kLanes];
  hn::Store(x, d, angles);
  hn::Store(y, d, results);
  for (size_t i = 0; i < kLanes; ++i)
    if (!(std::fabs(angles[i]) < most)) results[i] = kSine ? std::sin(angles[i]) : std::cos(angles[i]);
  return hn::Load(d, results);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
