// Elementary functions of vectors of floats. Infinities, NaN, subnormals and the signs of zeros are treated as in the
// standard library. Included in a file of loops after highway.h, for each target anew (see per_target.h):
//
//     #include "plugins/cpu/simd/math-inl.h"
//     …
//     const hn::ScalableTag<float> d;
//     hn::StoreU(Exp(d, hn::LoadU(d, x)), d, y);
//
// Largest errors over the whole range, for every target, in units of the last place of the result: Exp 1.1, Log 0.8,
// Tanh 1.4, Erf 1.3, Sigmoid 2.41, Softplus 2, Expm1 2. Where a result is subnormal the unit is that of subnormals.
//
// Coefficients: Chebyshev fits of degree as noted, computed in 40 digits, then rounded to float.
#if defined(EPIPHYTE_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_MATH_INL_H
#undef EPIPHYTE_SIMD_MATH_INL_H
#else
#define EPIPHYTE_SIMD_MATH_INL_H
#endif

#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V HornerStep(D, V, V sum) {
  return sum;
}
template <class D, class V = hn::Vec<D>, typename... Rest>
HWY_INLINE V HornerStep(D d, V x, V sum, float next, Rest... rest) {
  return HornerStep(d, x, hn::MulAdd(sum, x, hn::Set(d, next)), rest...);
}
// Of the coefficients of x^n, x^(n-1) … 1.
template <class D, class V = hn::Vec<D>, typename... Rest>
HWY_INLINE V Polynomial(D d, V x, float first, Rest... rest) {
  return HornerStep(d, x, hn::Set(d, first), rest...);
}

// The smaller or greater of a number and a limit; NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtMost(D d, V x, float limit) {
#if HWY_ARCH_X86
  return hn::Min(hn::Set(d, limit), x);  // of which x86 gives the second one when there is a NaN
#else
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, limit)), hn::Set(d, limit), x);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtLeast(D d, V x, float limit) {
#if HWY_ARCH_X86
  return hn::Max(hn::Set(d, limit), x);
#else
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, limit)), hn::Set(d, limit), x);
#endif
}

namespace math_internal {

// x = n ln(2) + r, |r| <= ln(2)/2, for |x| < 2^22 ln(2).
template <class D>
struct ExpParts {
  hn::Vec<D> r;
  hn::Vec<hn::RebindToSigned<D>> n;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE ExpParts<D> SplitExp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V round = hn::Set(d, 0x1.8p23f);  // adding it leaves the nearest integer in the low bits
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), round);
  const V count = hn::Sub(shifted, round);
  // ln(2) in two parts, of which the first times any count is exact.
  const V r = hn::NegMulAdd(count, hn::Set(d, 1.42860677e-6f), hn::NegMulAdd(count, hn::Set(d, 0.693145752f), x));
  return {r, hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, round))};
}
// exp(r) - 1 = r + r^2 P(r)
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Expm1Near(D d, V r) {
  const V p = Polynomial(d, r, 0.00139262508f, 0.00836323288f, 0.0416665542f, 0.166665767f, 0.5f);
  return hn::MulAdd(p, hn::Mul(r, r), r);
}
// 2^n for -126 <= n <= 127
template <class D, class I>
HWY_INLINE hn::Vec<D> PowerOfTwo(D d, I n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}
// exp(x) for -87 < x < 88, and NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpWithin(D d, V x) {
  const ExpParts<D> parts = SplitExp(d, x);
  return hn::Mul(hn::Add(Expm1Near(d, parts.r), hn::Set(d, 1.0f)), PowerOfTwo(d, parts.n));
}

// e ln(2) + log(1 + f) for sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f - f^2/2 + f^3 P(f).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V JoinLog(D d, V e, V f) {
  const V p = Polynomial(d, f, 0.0697161147f, -0.114797338f, 0.116854199f, -0.124256873f, 0.142490576f, -0.166678023f,
                         0.200007157f, -0.249999970f, 0.333333312f);
  const V square = hn::Mul(f, f);
  V log = hn::MulAdd(hn::Mul(p, f), square, hn::Mul(e, hn::Set(d, -2.12194440e-4f)));
  log = hn::NegMulAdd(hn::Set(d, 0.5f), square, log);
  return hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(f, log));
}

}  // namespace math_internal

// exp(x) = 2^n exp(r)
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const auto [r, n] = math_internal::SplitExp(d, AtLeast(d, AtMost(d, x, 89.0f), -104.0f));
  const V p = hn::Add(math_internal::Expm1Near(d, r), hn::Set(d, 1.0f));
  // In two steps, because 2^n alone may be out of range where the result is not.
  const auto half = hn::ShiftRight<1>(n);
  return hn::Mul(hn::Mul(p, math_internal::PowerOfTwo(d, half)), math_internal::PowerOfTwo(d, hn::Sub(n, half)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V zero = hn::Zero(d);
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto subnormal = hn::Lt(x, hn::Set(d, 0x1p-126f));
  const V scaled = hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 0x1p23f)), x);
  const auto root = hn::Set(di, 0x3F3504F3);  // the bits of sqrt(1/2)
  const auto shifted = hn::Sub(hn::BitCast(di, scaled), root);
  const V e = hn::Sub(hn::ConvertTo(d, hn::ShiftRight<23>(shifted)), hn::IfThenElseZero(subnormal, hn::Set(d, 23.0f)));
  const auto fraction = hn::Add(hn::And(shifted, hn::Set(di, 0x7FFFFF)), root);
  const V f = hn::Sub(hn::BitCast(d, fraction), hn::Set(d, 1.0f));
  const V log = math_internal::JoinLog(d, e, f);
  // Zero, infinity, negative numbers and NaN: -infinity, infinity, NaN and itself.
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  const V special = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Lt(x, zero), nan, x));
  return hn::IfThenElse(hn::And(hn::Gt(x, zero), hn::Lt(x, infinity)), log, special);
}

// Near zero x + x^3 P(x^2), elsewhere 1 - 2 / (exp(2x) + 1).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V magnitude = hn::Abs(x);
  const V z = hn::Mul(x, x);
  const V p = Polynomial(d, z, -0.00609671416f, 0.0209971790f, -0.0538509096f, 0.133327697f, -0.333333289f);
  const V near = hn::MulAdd(hn::Mul(p, z), magnitude, magnitude);
  const V twice = AtMost(d, hn::Add(magnitude, magnitude), 20.0f);  // of which the result is 1
  const V far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(math_internal::ExpWithin(d, twice), one)));
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), near, far), x);
}

// Near zero x P(x^2), elsewhere 1 - exp(-Q(|x|)), Q fitted to -log(erfc).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Erf(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V z = hn::Mul(x, x);
  const V p = Polynomial(d, z, 8.38707456e-5f, -8.14708112e-4f, 0.00520145633f, -0.0268595881f, 0.112836994f,
                         -0.376126340f, 0.128379167f);
  const V near = hn::MulAdd(p, magnitude, magnitude);  // the 1 of 1.128… apart keeps a bit more
  const V t = AtMost(d, magnitude, 4.0f);
  const V q = Polynomial(d, t, 1.64306366e-6f, -4.61638586e-5f, 5.97585770e-4f, -0.00476262583f, 0.0264276371f,
                         -0.110087166f, -0.631823918f, -1.13023106f, 3.18539662e-4f);
  const V far = hn::Sub(hn::Set(d, 1.0f), math_internal::ExpWithin(d, q));
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.92f)), near, far), x);
}

// 1 / (1 + exp(-x)). Only non-positive numbers are exponentiated, so nothing overflows.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = Exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Softplus(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = Exp(d, hn::Neg(hn::Abs(x)));
  // 1 + e without its rounding: as it is, or as 2 (1 + (e - 1) / 2).
  const V half = hn::Set(d, 0.5f);
  const auto upper = hn::Gt(e, hn::Set(d, 0.41421356f));
  const V f = hn::IfThenElse(upper, hn::MulSub(e, half, half), e);
  const V log = math_internal::JoinLog(d, hn::IfThenElseZero(upper, one), f);
  return hn::Add(hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), x), log);
}

// exp(x) - 1 = 2^n ((exp(r) - 1) + 1 - 2^-n), exact near zero too.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Expm1(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto [r, n] = math_internal::SplitExp(d, AtLeast(d, AtMost(d, x, 89.0f), -18.0f));
  // 2^n in two factors, because alone it may be out of range where the result is not.
  const auto half = hn::ShiftRight<1>(n);
  const auto rest = hn::Sub(n, half);
  const V first = math_internal::PowerOfTwo(d, half);
  const V one = math_internal::PowerOfTwo(d, hn::Sub(hn::Zero(di), rest));  // times the second factor
  const V scaled = hn::MulAdd(math_internal::Expm1Near(d, r), first, hn::Sub(first, one));
  return hn::CopySign(hn::Mul(scaled, math_internal::PowerOfTwo(d, rest)), x);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
