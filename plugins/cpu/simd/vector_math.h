// Elementary functions of floats without branches, so that loops over them vectorise; the double overloads call the
// standard library. Largest errors, measured over the whole range: Exp 1.1 ulp, Log 0.8, Tanh 1.4, Erf 1.3, Sigmoid 2,
// Expm1 and Softplus 3. Infinities, NaN and subnormals are treated as in the standard library.
//
//     EPIPHYTE_MULTIVERSION void Exp(const float* x, float* y, int64_t n) {
//       for (int64_t i = 0; i < n; ++i) y[i] = vm::Exp(x[i]);
//     }
//
// Coefficients: Chebyshev fits of degree as noted, computed in 40 digits, then rounded to float.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "plugins/cpu/simd/simd.h"

namespace epiphyte::cpu::vm {

EPIPHYTE_INLINE float Bits(uint32_t bits) { return std::bit_cast<float>(bits); }
EPIPHYTE_INLINE uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

// exp(x) = 2^n exp(r), |r| <= ln(2)/2; exp(r) = 1 + r + r^2 P(r).
EPIPHYTE_INLINE float Exp(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
  float clamped = x > 89.0f ? 89.0f : x;
  clamped = clamped < -104.0f ? -104.0f : clamped;
  const float shifted = clamped * 1.44269504f + kRound;
  const int32_t n = static_cast<int32_t>(Bits(shifted)) - static_cast<int32_t>(Bits(kRound));
  const float count = shifted - kRound;
  // ln(2) in two parts, of which the first times any count is exact.
  const float r = (clamped - count * 0.693145752f) - count * 1.42860677e-6f;
  float p = 0.00139262508f;
  p = p * r + 0.00836323288f;
  p = p * r + 0.0416665542f;
  p = p * r + 0.166665767f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  // In two steps, because 2^n alone may be out of range where the result is not.
  const int32_t half = n >> 1;
  const float first = Bits(static_cast<uint32_t>(half + 127) << 23);
  const float second = Bits(static_cast<uint32_t>(n - half + 127) << 23);
  const float result = p * first * second;
  return x != x ? x : result;
}
inline double Exp(double x) { return std::exp(x); }

// log(x) = e ln(2) + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f - f^2/2 + f^3 P(f).
EPIPHYTE_INLINE float Log(float x) {
  const bool subnormal = x < 0x1p-126f;
  const float scaled = subnormal ? x * 0x1p23f : x;
  const uint32_t shifted = Bits(scaled) - 0x3F3504F3u;  // of sqrt(1/2)
  const int32_t e = static_cast<int32_t>(shifted) >> 23;
  const float f = Bits((shifted & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f;
  const float exponent = static_cast<float>(e - (subnormal ? 23 : 0));
  float p = 0.0697161147f;
  p = p * f - 0.114797338f;
  p = p * f + 0.116854199f;
  p = p * f - 0.124256873f;
  p = p * f + 0.142490576f;
  p = p * f - 0.166678023f;
  p = p * f + 0.200007157f;
  p = p * f - 0.249999970f;
  p = p * f + 0.333333312f;
  const float square = f * f;
  float result = p * f * square + exponent * -2.12194440e-4f;
  result = result - 0.5f * square;
  result = f + result;
  result = result + exponent * 0.693359375f;
  const float infinity = std::numeric_limits<float>::infinity();
  result = x == infinity ? infinity : result;
  result = x == 0.0f ? -infinity : result;
  result = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : result;
  return x != x ? x : result;
}
inline double Log(double x) { return std::log(x); }

// Near zero x + x^3 P(x^2), elsewhere 1 - 2 / (exp(2x) + 1).
EPIPHYTE_INLINE float Tanh(float x) {
  const float magnitude = Bits(Bits(x) & 0x7FFFFFFFu);
  const float z = x * x;
  float p = -0.00609671416f;
  p = p * z + 0.0209971790f;
  p = p * z - 0.0538509096f;
  p = p * z + 0.133327697f;
  p = p * z - 0.333333289f;
  const float small = p * z * magnitude + magnitude;
  const float large = 1.0f - 2.0f / (Exp(magnitude + magnitude) + 1.0f);
  const float result = magnitude < 0.625f ? small : large;
  return Bits(Bits(result) | (Bits(x) & 0x80000000u));
}
inline double Tanh(double x) { return std::tanh(x); }

// Near zero x P(x^2), elsewhere 1 - exp(-Q(|x|)), Q fitted to -log(erfc).
EPIPHYTE_INLINE float Erf(float x) {
  const float magnitude = Bits(Bits(x) & 0x7FFFFFFFu);
  const float z = x * x;
  float p = 8.38707456e-5f;
  p = p * z - 8.14708112e-4f;
  p = p * z + 0.00520145633f;
  p = p * z - 0.0268595881f;
  p = p * z + 0.112836994f;
  p = p * z - 0.376126340f;
  p = p * z + 0.128379167f;
  const float small = p * magnitude + magnitude;  // the 1 of 1.128… apart keeps a bit more
  const float t = magnitude > 4.0f ? 4.0f : magnitude;
  float q = -1.64306366e-6f;
  q = q * t + 4.61638586e-5f;
  q = q * t - 5.97585770e-4f;
  q = q * t + 0.00476262583f;
  q = q * t - 0.0264276371f;
  q = q * t + 0.110087166f;
  q = q * t + 0.631823918f;
  q = q * t + 1.13023106f;
  q = q * t - 3.18539662e-4f;
  const float large = 1.0f - Exp(-q);
  const float result = magnitude < 0.92f ? small : large;
  return x != x ? x : Bits(Bits(result) | (Bits(x) & 0x80000000u));
}
inline double Erf(double x) { return std::erf(x); }

// Only non-positive numbers are exponentiated, so nothing overflows.
EPIPHYTE_INLINE float Sigmoid(float x) {
  const float e = Exp(Bits(Bits(x) | 0x80000000u));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
inline double Sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

// log(1 + exp(x)) without overflow.
EPIPHYTE_INLINE float Softplus(float x) {
  const float magnitude = Bits(Bits(x) & 0x7FFFFFFFu);
  const float e = Exp(-magnitude);
  // log(1 + e) loses e's low bits; the quotient puts them back.
  const float u = 1.0f + e;
  const float log = e == 0.0f ? 0.0f : (u == 1.0f ? e : Log(u) * (e / (u - 1.0f)));
  return (x > 0.0f ? x : 0.0f) + (x != x ? x : log);
}
inline double Softplus(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }

// exp(x) - 1, exact near zero too.
EPIPHYTE_INLINE float Expm1(float x) {
  // tanh(x/2) (exp(x) + 1) has no cancellation.
  const float e = Exp(x);
  const float near = Tanh(0.5f * x) * (e + 1.0f);
  return x > -1.0f && x < 1.0f ? near : e - 1.0f;
}
inline double Expm1(double x) { return std::expm1(x); }

}  // namespace epiphyte::cpu::vm
