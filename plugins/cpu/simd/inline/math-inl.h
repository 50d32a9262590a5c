// Elementary functions of vectors of floats. Infinities, NaN, subnormals and the signs of zeros are treated as in the
// standard library. Included in a file of loops after highway.h, for each target anew (see per_target.h):
//
//     #include "plugins/cpu/simd/inline/math-inl.h"
//     …
//     const hn::ScalableTag<float> d;
//     hn::StoreU(Exp(d, hn::LoadU(d, x)), d, y);
//
// Largest errors over the whole range, for every target, in units of the last place of the result: Exp 1.1, Log 0.8,
// Tanh 7, Erf 1.3, Sigmoid 2.41, Softplus 2, Expm1 2, Sin and Cos 1.5, Acos 3, Asin and Atan 4. Where a result is
// subnormal the unit is that of subnormals.
//
// Coefficients: Chebyshev fits of degree as noted, computed in 40 digits, then rounded to float.
#if defined(EPIPHYTE_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_MATH_INL_H
#undef EPIPHYTE_SIMD_MATH_INL_H
#else
#define EPIPHYTE_SIMD_MATH_INL_H
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include "plugins/cpu/simd/inline/math_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The smaller or greater of a number and a limit; NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtMost(D d, V x, float limit) {
#if HWY_ARCH_X86
  return hn::Min(hn::Set(d, limit), x);  // x86 returns the second operand when there is a NaN
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

// x = n ln(2) + r, |r| <= ln(2)/2, for |x| < 2^22 ln(2). `count` is n as a float.
template <class D>
struct ExpParts {
  hn::Vec<D> r;
  hn::Vec<D> count;
  hn::Vec<hn::RebindToSigned<D>> n;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE ExpParts<D> SplitExp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V round = hn::Set(d, 0x1.8p23f);  // adding it leaves the nearest integer in the low bits
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), round);
  const V count = hn::Sub(shifted, round);
  // ln(2) is split in two parts; the first times any count is exact.
  const V r = hn::NegMulAdd(count, hn::Set(d, 1.42860677e-6f), hn::NegMulAdd(count, hn::Set(d, 0.693145752f), x));
  return {r, count, hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, round))};
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
constexpr float kExpIsZero = -104;  // at and below this x
#if HWY_ARCH_X86 && HWY_CAP_GE512
// v 2^count in one instruction, for which this version of Highway has no function. It is also right when only one of
// 2^count and the result is in range.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesPowerOfTwo(D, V v, V count) {
  if constexpr (sizeof(v.raw) == 64) {
    return V{_mm512_scalef_ps(v.raw, count.raw)};
  } else if constexpr (sizeof(v.raw) == 32) {
    return V{_mm256_scalef_ps(v.raw, count.raw)};
  } else {
    return V{_mm_scalef_ps(v.raw, count.raw)};
  }
}
// Gives 0 in lanes where `counts` is false. Results there would be too small, and the CPU takes some hundred cycles to
// compute such a number.
template <class D, class M, class V = hn::Vec<D>>
HWY_INLINE V TimesPowerOfTwoWhere(D, M counts, V v, V count) {
  if constexpr (sizeof(v.raw) == 64) {
    return V{_mm512_maskz_scalef_ps(counts.raw, v.raw, count.raw)};
  } else if constexpr (sizeof(v.raw) == 32) {
    return V{_mm256_maskz_scalef_ps(counts.raw, v.raw, count.raw)};
  } else {
    return V{_mm_maskz_scalef_ps(counts.raw, v.raw, count.raw)};
  }
}
#endif
// exp(x) for -87 < x < 88, and NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpWithin(D d, V x) {
  const ExpParts<D> parts = SplitExp(d, x);
  const V p = hn::Add(Expm1Near(d, parts.r), hn::Set(d, 1.0f));
#if HWY_ARCH_X86 && HWY_CAP_GE512
  return TimesPowerOfTwo(d, p, parts.count);
#else
  return hn::Mul(p, PowerOfTwo(d, parts.n));
#endif
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
  const auto parts = math_internal::SplitExp(d, AtLeast(d, AtMost(d, x, 89.0f), math_internal::kExpIsZero));
  const V p = hn::Add(math_internal::Expm1Near(d, parts.r), hn::Set(d, 1.0f));
#if HWY_ARCH_X86 && HWY_CAP_GE512
  return math_internal::TimesPowerOfTwo(d, p, parts.count);
#else
  // Scaling takes two steps, because 2^n alone may be out of range when the result is not.
  const auto half = hn::ShiftRight<1>(parts.n);
  return hn::Mul(hn::Mul(p, math_internal::PowerOfTwo(d, half)), math_internal::PowerOfTwo(d, hn::Sub(parts.n, half)));
#endif
}

// exp(x) for x <= 0. Many x may be so small that the result is 0, as masked scores are.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOfMasked(D d, V x) {
#if HWY_ARCH_X86 && HWY_CAP_GE512
  const V least = hn::Set(d, math_internal::kExpIsZero);
  const auto parts = math_internal::SplitExp(d, AtLeast(d, x, math_internal::kExpIsZero));
  const V p = hn::Add(math_internal::Expm1Near(d, parts.r), hn::Set(d, 1.0f));
  return math_internal::TimesPowerOfTwoWhere(d, hn::Not(hn::Lt(x, least)), p, parts.count);
#else
  return Exp(d, x);
#endif
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
  // The logarithm maps zero to -infinity, infinity to itself, negative numbers to NaN, and NaN to itself.
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  const V special = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Lt(x, zero), nan, x));
  return hn::IfThenElse(hn::And(hn::Gt(x, zero), hn::Lt(x, infinity)), log, special);
}

// x P(x^2) / Q(x^2), fitted to a relative error of 2^-27 up to where the result is 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V bounded = AtMost(d, AtLeast(d, x, -9.02f), 9.02f);
  const V z = hn::Mul(bounded, bounded);
  const V p = Polynomial(d, z, -8.50857162e-14f, 5.28904427e-11f, -2.02555272e-8f, 1.11633890e-5f, 0.00310492883f,
                         0.130849163f, 1.0f);
  const V q = Polynomial(d, z, 2.54749727e-4f, 0.0244991600f, 0.464182453f, 1.0f);
  return AtMost(d, AtLeast(d, hn::Div(hn::Mul(bounded, p), q), -1.0f), 1.0f);
}

// Near zero x P(x^2), elsewhere 1 - exp(-Q(|x|)), Q fitted to -log(erfc).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Erf(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V z = hn::Mul(x, x);
  const V p = Polynomial(d, z, 8.38707456e-5f, -8.14708112e-4f, 0.00520145633f, -0.0268595881f, 0.112836994f,
                         -0.376126340f, 0.128379167f);
  const V near = hn::MulAdd(p, magnitude, magnitude);  // adding the 1 of 1.128… separately keeps a bit more
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

namespace math_internal {

// sin(x) if `kSine`, otherwise cos(x). With x = q pi/2 + r and |r| <= pi/4, the parity of q selects the polynomial.
// Coefficients: those of Cephes' sinf and cosf.
template <bool kSine, class D, class V = hn::Vec<D>>
HWY_INLINE V SineWithin(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V round = hn::Set(d, 0x1.8p23f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 0.636619772f), round);
  const V count = hn::Sub(shifted, round);
  auto quarter = hn::BitCast(di, shifted);
  if constexpr (!kSine) quarter = hn::Add(quarter, hn::Set(di, 1));
  // pi/2 is split in four parts; all but the last times any count are exact.
  V r = hn::NegMulAdd(count, hn::Set(d, 0x1.92p0f), x);
  r = hn::NegMulAdd(count, hn::Set(d, 0x1.fb4p-12f), r);
  r = hn::NegMulAdd(count, hn::Set(d, 0x1.444p-24f), r);
  r = hn::NegMulAdd(count, hn::Set(d, 0x1.68c234p-39f), r);
  const V z = hn::Mul(r, r);
  const V s = Polynomial(d, z, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f);
  const V sine = hn::MulAdd(hn::Mul(s, z), r, r);
  const V c = Polynomial(d, z, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f);
  const V cosine = hn::MulAdd(hn::Mul(c, z), z, hn::NegMulAdd(hn::Set(d, 0.5f), z, hn::Set(d, 1.0f)));
  return SineOfQuarters(d, quarter, sine, cosine);
}
inline constexpr float kMostAngle = 2048;

template <bool kSine, class D, class V = hn::Vec<D>>
HWY_INLINE V Sine(D d, V x) {
  return WithAnglesBeyond<kSine>(d, x, SineWithin<kSine>(d, x), kMostAngle);
}

}  // namespace math_internal

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sin(D d, V x) {
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, math_internal::Sine<true>(d, x));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Cos(D d, V x) {
  return math_internal::Sine<false>(d, x);
}

// The arctangent of |x|. Greater arguments use (|x| - 1) / (|x| + 1) and -1 / |x|, an eighth and a quarter of a turn
// away. Coefficients: those of Cephes' atanf.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Atan(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V magnitude = hn::Abs(x);
  const auto above = hn::Gt(magnitude, hn::Set(d, 0.414213562f)), far = hn::Gt(magnitude, hn::Set(d, 2.41421356f));
  const V over = hn::IfThenElse(far, hn::Neg(one), hn::IfThenElse(above, hn::Sub(magnitude, one), magnitude));
  const V under = hn::IfThenElse(far, magnitude, hn::IfThenElse(above, hn::Add(magnitude, one), one));
  const V start = hn::IfThenElse(far, hn::Set(d, 1.57079633f), hn::IfThenElseZero(above, hn::Set(d, 0.785398163f)));
  const V t = hn::Div(over, under), z = hn::Mul(t, t);
  const V p = Polynomial(d, z, 8.05374449538e-2f, -1.38776856032e-1f, 1.99777106478e-1f, -3.33329491539e-1f);
  return hn::CopySignToAbs(hn::Add(start, hn::MulAdd(hn::Mul(p, z), t, t)), x);
}

namespace math_internal {

// asin(s) for z = s^2 up to 1/4. Coefficients: those of Cephes' asinf.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AsinWithin(D d, V s, V z) {
  const V p =
      Polynomial(d, z, 4.2163199048e-2f, 2.4181311049e-2f, 4.5470025998e-2f, 7.4953002686e-2f, 1.6666752422e-1f);
  return hn::MulAdd(hn::Mul(p, z), s, s);
}

}  // namespace math_internal

// Beyond 1/2 the half-angle formula applies: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Asin(D d, V x) {
  const V half = hn::Set(d, 0.5f);
  const V magnitude = hn::Abs(x);
  const auto above = hn::Gt(magnitude, half);
  const V z = hn::IfThenElse(above, hn::NegMulAdd(half, magnitude, half), hn::Mul(x, x));
  const V angle = math_internal::AsinWithin(d, hn::IfThenElse(above, hn::Sqrt(z), magnitude), z);
  return hn::CopySign(hn::IfThenElse(above, hn::NegMulAdd(hn::Set(d, 2.0f), angle, hn::Set(d, 1.57079633f)), angle), x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Acos(D d, V x) {
  const V half = hn::Set(d, 0.5f);
  const V magnitude = hn::Abs(x);
  const auto above = hn::Gt(magnitude, half);
  const V z = hn::IfThenElse(above, hn::NegMulAdd(half, magnitude, half), hn::Mul(x, x));
  const V angle = math_internal::AsinWithin(d, hn::IfThenElse(above, hn::Sqrt(z), x), z);
  const V twice = hn::Add(angle, angle);
  const V far = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 3.14159265f), twice), twice);
  return hn::IfThenElse(above, far, hn::Sub(hn::Set(d, 1.57079633f), angle));
}

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Softplus(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = Exp(d, hn::Neg(hn::Abs(x)));
  // 1 + e without rounding it: directly, or as 2 (1 + (e - 1) / 2).
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
  const auto [r, count, n] = math_internal::SplitExp(d, AtLeast(d, AtMost(d, x, 89.0f), -18.0f));
  // 2^n is applied as two factors, because alone it may be out of range when the result is not.
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
