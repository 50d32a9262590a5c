// Elementary functions of floats. GLSL's own may have errors of hundreds of ulp, and on some drivers they overflow
// early or ignore NaN. These are within a few ulp of the true value, and treat infinities and NaN as the C library
// does.
//
//     #include "math.glsl"
//     y[i] = T(Sigmoid(C(x[i])));
//
// The coefficients are Chebyshev fits made for this file, rounded to float. `precise` stands where a compiler that
// reorders sums would undo the purpose of their order.
#ifndef MATH_GLSL
#define MATH_GLSL

// These replace isnan and isinf, because drivers may assume that there are no such numbers.
bool IsNan(float x) { return (floatBitsToUint(x) & 0x7FFFFFFFu) > 0x7F800000u; }
bool IsInf(float x) { return (floatBitsToUint(x) & 0x7FFFFFFFu) == 0x7F800000u; }
float Infinity() { return uintBitsToFloat(0x7F800000u); }
float Nan() { return uintBitsToFloat(0x7FC00000u); }

float Magnitude(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0x7FFFFFFFu); }

// Uses a selection instead of (magnitude & 0x7FFFFFFF) | (x & 0x80000000): Mesa 25.0 turns that into a bit select, and
// llvmpipe takes its operands in the wrong order.
float WithSignOf(float magnitude, float x) {
  const float positive = Magnitude(magnitude);
  return (floatBitsToUint(x) >> 31) != 0u ? -positive : positive;
}

// The result is NaN if either operand is.
float Larger(float a, float b) { return IsNan(a) ? a : (IsNan(b) ? b : (a >= b ? a : b)); }
float Smaller(float a, float b) { return IsNan(a) ? a : (IsNan(b) ? b : (a <= b ? a : b)); }
// x within bounds. The result is NaN if x or a bound is. The upper bound wins if the bounds cross.
float Within(float x, float low, float high) { return Smaller(Larger(x, low), high); }

// x * 2^n for n within -250 and 250. It takes two steps, because 2^n alone may be out of range where the result is not.
float ScaleByPower(float x, int n) {
  const int part = n >> 1;
  precise const float first = x * uintBitsToFloat(uint(part + 127) << 23);
  precise const float result = first * uintBitsToFloat(uint(n - part + 127) << 23);
  return result;
}

// exp(x) = 2^n exp(r), |r| <= ln(2)/2; exp(r) = 1 + r + r^2 P(r).
float Exp(float x) {
  const float clamped = clamp(x, -104.0, 89.0);
  const float n = roundEven(clamped * 1.44269504);
  precise const float r = (clamped - n * 0.693145752) - n * 1.42860677e-6;  // the first part times n is exact
  float p = 0.00139262508;
  p = p * r + 0.00836323288;
  p = p * r + 0.0416665542;
  p = p * r + 0.166665767;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  const float result = ScaleByPower(p, int(n));
  return IsNan(x) ? x : (x > 88.8 ? Infinity() : (x < -103.98 ? 0.0 : result));
}

// log(x) = e ln(2) + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f - f^2/2 + f^3 P(f).
float Log(float x) {
  const bool tiny = x < 1.17549435e-38;
  const float scaled = tiny ? x * 8388608.0 : x;
  const uint shifted = floatBitsToUint(scaled) - 0x3F3504F3u;  // bits minus those of sqrt(1/2)
  const float e = float((int(shifted) >> 23) - (tiny ? 23 : 0));
  precise const float f = uintBitsToFloat((shifted & 0x7FFFFFu) + 0x3F3504F3u) - 1.0;
  float p = 0.0697161147;
  p = p * f - 0.114797338;
  p = p * f + 0.116854199;
  p = p * f - 0.124256873;
  p = p * f + 0.142490576;
  p = p * f - 0.166678023;
  p = p * f + 0.200007157;
  p = p * f - 0.249999970;
  p = p * f + 0.333333312;
  const float square = f * f;
  precise float result = p * f * square + e * -2.12194440e-4;
  result = result - 0.5 * square;
  result = f + result;
  result = result + e * 0.693359375;
  result = x == Infinity() ? Infinity() : result;
  result = x == 0.0 ? -Infinity() : (x < 0.0 ? Nan() : result);
  return IsNan(x) ? x : result;
}

// log(1 + x). The quotient x / kept makes up for the bits of x that the sum 1 + x loses.
float Log1p(float x) {
  precise const float u = 1.0 + x;
  precise const float kept = u - 1.0;
  const float log = Log(u);
  return u == 1.0 ? x : (IsInf(u) || u <= 0.0 ? log : log * (x / kept));
}

// Near zero x + x^3 P(x^2), elsewhere 1 - 2 / (exp(2x) + 1).
float Tanh(float x) {
  const float magnitude = Magnitude(x);
  const float z = magnitude * magnitude;
  float p = -0.00609671416;
  p = p * z + 0.0209971790;
  p = p * z - 0.0538509096;
  p = p * z + 0.133327697;
  p = p * z - 0.333333289;
  const float near = p * z * magnitude + magnitude;
  const float far = 1.0 - 2.0 / (Exp(min(2.0 * magnitude, 40.0)) + 1.0);
  return IsNan(x) ? x : WithSignOf(magnitude < 0.625 ? near : far, x);
}

// exp(x) - 1 = tanh(x/2) (exp(x) + 1), which has no cancellation near zero.
float Expm1(float x) {
  const float e = Exp(x);
  return x > -1.0 && x < 1.0 ? Tanh(0.5 * x) * (e + 1.0) : e - 1.0;
}

// Near zero x P(x^2), elsewhere 1 - exp(-Q(|x|)), Q fitted to -log(erfc).
float Erf(float x) {
  const float magnitude = Magnitude(x);
  const float t = min(magnitude, 4.0);
  const float z = t * t;
  float p = 8.38707456e-5;
  p = p * z - 8.14708112e-4;
  p = p * z + 0.00520145633;
  p = p * z - 0.0268595881;
  p = p * z + 0.112836994;
  p = p * z - 0.376126340;
  p = p * z + 0.128379167;
  const float near = p * t + t;
  float q = -1.64306366e-6;
  q = q * t + 4.61638586e-5;
  q = q * t - 5.97585770e-4;
  q = q * t + 0.00476262583;
  q = q * t - 0.0264276371;
  q = q * t + 0.110087166;
  q = q * t + 0.631823918;
  q = q * t + 1.13023106;
  q = q * t - 3.18539662e-4;
  return IsNan(x) ? x : WithSignOf(magnitude < 0.92 ? near : 1.0 - Exp(-q), x);
}

// Sigmoid and Softplus call Exp only with numbers that aren't positive, so nothing overflows.
float Sigmoid(float x) {
  const float e = Exp(-Magnitude(x));
  const float result = (x < 0.0 ? e : 1.0) / (1.0 + e);
  return IsNan(x) ? x : result;
}
float Softplus(float x) {
  const float tail = Log1p(Exp(-Magnitude(x)));
  return IsNan(x) ? x : (x > 0.0 ? x : 0.0) + tail;
}

float Relu(float x) { return IsNan(x) ? x : (x > 0.0 ? x : 0.0); }
float HardSigmoid(float x, float alpha, float beta) { return Within(alpha * x + beta, 0.0, 1.0); }
float Gelu(float x) { return 0.5 * x * (1.0 + Erf(x * 0.707106781)); }
float GeluTanh(float x) { return 0.5 * x * (1.0 + Tanh(0.797884561 * (x + 0.044715 * x * x * x))); }

#endif  // MATH_GLSL
