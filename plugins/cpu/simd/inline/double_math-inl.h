// Exp, Sigmoid, Tanh, Sin and Cos of vectors of doubles, for every argument, infinities and NaN included.
//
//     const hn::ScalableTag<double> d;
//     hn::StoreU(Exp(d, hn::LoadU(d, x)), d, y);
//
// Largest errors, in units of the last place of the result: 3 for Sigmoid, 2 for the others. For a subnormal result the
// unit is that of subnormals. Coefficients: those of Cephes' exp, tanh, sin and cos.
#if defined(EPIPHYTE_SIMD_DOUBLE_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_DOUBLE_MATH_INL_H
#undef EPIPHYTE_SIMD_DOUBLE_MATH_INL_H
#else
#define EPIPHYTE_SIMD_DOUBLE_MATH_INL_H
#endif

#include <cstdint>

#include "plugins/cpu/simd/inline/math_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE::double_math {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x) = 2^n (1 + 2 r P(r^2) / (Q(r^2) - r P(r^2))), x = n ln(2) + r
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  // NaN fails both comparisons and stays.
  V bounded = hn::IfThenElse(hn::Gt(x, hn::Set(d, 710.0)), hn::Set(d, 710.0), x);
  bounded = hn::IfThenElse(hn::Lt(bounded, hn::Set(d, -746.0)), hn::Set(d, -746.0), bounded);
  const V round = hn::Set(d, 0x1.8p52);
  const V shifted = hn::MulAdd(bounded, hn::Set(d, 1.44269504088896340736), round);
  const V count = hn::Sub(shifted, round);
  // ln(2) is split in two parts; the first times any count is exact.
  const V r = hn::NegMulAdd(count, hn::Set(d, 1.42860682030941723212e-6),
                            hn::NegMulAdd(count, hn::Set(d, 6.93145751953125e-1), bounded));
  const V z = hn::Mul(r, r);
  const V p = hn::Mul(r, Polynomial(d, z, 1.26177193074810590878e-4, 3.02994407707441961300e-2, 1.0));
  const V q = Polynomial(d, z, 3.00198505138664455042e-6, 2.52448340349684104192e-3, 2.27265548208155028766e-1, 2.0);
  const V e = hn::Add(hn::Set(d, 1.0), hn::Div(hn::Add(p, p), hn::Sub(q, p)));
  // Scaling takes two steps, because 2^n alone may be out of range when the result is not.
  const auto n = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, round));
  const hn::RebindToUnsigned<D> du;
  const auto shifted_n = hn::BitCast(du, hn::Add(n, hn::Set(di, 2048)));  // is positive
  const auto half = hn::Sub(hn::BitCast(di, hn::ShiftRight<1>(shifted_n)), hn::Set(di, 1024));
  const auto power = [&](auto exponent) EPIPHYTE_INLINE {
    return hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(exponent, hn::Set(di, 1023))));
  };
  return hn::Mul(hn::Mul(e, power(half)), power(hn::Sub(n, half)));
}

// 1 / (1 + exp(-x)); for negative x, exp(x) / (1 + exp(x)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0), e = Exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

// Near zero x + x^3 P(x^2) / Q(x^2), elsewhere 1 - 2 / (exp(2x) + 1).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V magnitude = hn::Abs(x), one = hn::Set(d, 1.0);
  const V z = hn::Mul(x, x);
  const V p = Polynomial(d, z, -9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3);
  const V q = Polynomial(d, z, 1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3);
  const V near = hn::MulAdd(hn::Mul(hn::Div(p, q), z), magnitude, magnitude);
  const V far = hn::Sub(one, hn::Div(hn::Set(d, 2.0), hn::Add(Exp(d, hn::Add(magnitude, magnitude)), one)));
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625)), near, far), x);
}

// sin(x) if `kSine`, otherwise cos(x). With x = q pi/2 + r and |r| <= pi/4, the parity of q selects the polynomial.
template <bool kSine, class D, class V = hn::Vec<D>>
HWY_INLINE V SineWithin(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V round = hn::Set(d, 0x1.8p52);  // adding it leaves the nearest integer in the low bits
  const V shifted = hn::MulAdd(x, hn::Set(d, 0.63661977236758134308), round);
  const V count = hn::Sub(shifted, round);
  auto quarter = hn::BitCast(di, shifted);
  if constexpr (!kSine) quarter = hn::Add(quarter, hn::Set(di, 1));
  // pi/2 is split in three parts; the first two times any count are exact.
  V r = hn::NegMulAdd(count, hn::Set(d, 2 * 7.85398125648498535156e-1), x);
  r = hn::NegMulAdd(count, hn::Set(d, 2 * 3.77489470793079817668e-8), r);
  r = hn::NegMulAdd(count, hn::Set(d, 2 * 2.69515142907905952645e-15), r);
  const V z = hn::Mul(r, r);
  const V s = Polynomial(d, z, 1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
                         -1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1);
  const V sine = hn::MulAdd(hn::Mul(s, z), r, r);
  const V c = Polynomial(d, z, -1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7,
                         2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2);
  const V cosine = hn::MulAdd(hn::Mul(c, z), z, hn::NegMulAdd(hn::Set(d, 0.5), z, hn::Set(d, 1.0)));
  return SineOfQuarters(d, quarter, sine, cosine);
}
inline constexpr double kMostAngle = 1e6;

template <bool kSine, class D, class V = hn::Vec<D>>
HWY_INLINE V Sine(D d, V x) {
  return WithAnglesBeyond<kSine>(d, x, SineWithin<kSine>(d, x), kMostAngle);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sin(D d, V x) {
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, Sine<true>(d, x));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Cos(D d, V x) {
  return Sine<false>(d, x);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE::double_math
HWY_AFTER_NAMESPACE();

#endif  // per target
