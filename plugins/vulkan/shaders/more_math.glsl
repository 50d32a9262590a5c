// More functions of floats, in the manner of math.glsl: trigonometry, powers, remainders.
#ifndef MORE_MATH_GLSL
#define MORE_MATH_GLSL

#include "math.glsl"
#include "quotient.glsl"

// Bits of 2/pi from its binary point on.
const uint kTwoOverPi[8] = uint[](0u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u,
                                  0xFE5163ABu);

uint HighWord(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high;
}

// Reduces x = n pi/2 + r, |r| <= pi/4, for magnitudes so large that no float holds n pi/2. It multiplies the
// significand by the relevant bits of 2/pi as integers (M. Payne, R. Hanek, "Radian reduction for trigonometric
// functions", 1983). The bits in front of the relevant ones contribute multiples of 4 to n.
float ReduceLarge(float magnitude, out int n) {
  const uint bits = floatBitsToUint(magnitude);
  const uint significand = (bits & 0x7FFFFFu) | 0x800000u;
  // The relevant bits are a window of 96 bits of 2/pi. It begins where the product's bits below 4 begin.
  const int start = int(bits >> 23) - 120;
  const int word = clamp(start >> 5, 0, 4);
  const uint shift = uint(start) & 31u;
  uint window[3];
  for (int i = 0; i < 3; ++i) {
    const uint left = kTwoOverPi[word + i], right = kTwoOverPi[min(word + i + 1, 7)];
    window[i] = shift == 0u ? left : (left << shift) | (right >> (32u - shift));
  }
  // The upper 64 of the lower 96 bits of significand * window.
  uint low = window[1] * significand + HighWord(window[2], significand);
  const uint carry = low < window[1] * significand ? 1u : 0u;
  uint high = window[0] * significand + HighWord(window[1], significand) + carry;
  n = int(high >> 30);
  const uint fraction = (high << 2) | (low >> 30);
  const uint rest = low << 2;
  // n is rounded to the nearest integer, so that the fraction is in [-1/2, 1/2).
  const bool up = (fraction & 0x80000000u) != 0u;
  n += up ? 1 : 0;
  const uint a = up ? ~fraction : fraction;
  const uint b = up ? ~rest : rest;
  const float value = float(a) * 2.32830644e-10 + float(b) * 5.42101086e-20;
  return (up ? -value : value) * 1.57079637;
}

// Reduces x = n pi/2 + r, |r| <= pi/4, for any x.
float ReduceAngle(float x, out int n) {
  const float magnitude = Magnitude(x);
  const float count = roundEven(min(magnitude, 16384.0) * 0.636619772);
  precise float r = magnitude - count * 1.5703125;  // pi/2 in three parts, the first two exact times count
  r = r - count * 4.83751297e-4;
  r = r - count * 7.54978942e-8;
  n = int(count);
  int large_n;
  const float large = ReduceLarge(magnitude, large_n);
  if (magnitude > 10000.0) {
    r = large;
    n = large_n;
  }
  const bool negative = x < 0.0;
  n = negative ? -n : n;
  return negative ? -r : r;
}
float SinNear(float r) {
  const float z = r * r;
  float p = 2.72438513e-6;
  p = p * z - 1.98400395e-4;
  p = p * z + 0.00833333179;
  p = p * z - 0.166666667;
  return p * z * r + r;
}
float CosNear(float r) {
  const float z = r * r;
  float p = -2.72958845e-7;
  p = p * z + 2.48005609e-5;
  p = p * z - 0.00138888876;
  p = p * z + 0.0416666667;
  return p * z * z - 0.5 * z + 1.0;
}
float Sin(float x) {
  int n;
  const float r = ReduceAngle(x, n);
  const float value = (n & 1) == 0 ? SinNear(r) : CosNear(r);
  return IsNan(x) || IsInf(x) ? Nan() : ((n & 2) == 0 ? value : -value);
}
float Cos(float x) {
  int n;
  const float r = ReduceAngle(x, n);
  const float value = (n & 1) == 0 ? CosNear(r) : SinNear(r);
  return IsNan(x) || IsInf(x) ? Nan() : (((n + 1) & 2) == 0 ? value : -value);
}
float Tan(float x) {
  int n;
  const float r = ReduceAngle(x, n);
  const float s = SinNear(r), c = CosNear(r);
  return IsNan(x) || IsInf(x) ? Nan() : ((n & 1) == 0 ? s / c : -c / s);
}

// asin on [0, 1/2]. The other half uses asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
float AsinNear(float x, float z) {
  float p = 0.0382064521;
  p = p * z + 0.0264942768;
  p = p * z + 0.0450107001;
  p = p * z + 0.0749880918;
  p = p * z + 0.166666728;
  return p * z * x + x;
}
float Asin(float x) {
  const float magnitude = Magnitude(x);
  const bool far = magnitude > 0.5;
  const float z = far ? 0.5 * (1.0 - magnitude) : magnitude * magnitude;
  const float near = AsinNear(far ? sqrt(max(z, 0.0)) : magnitude, z);
  return IsNan(x) || magnitude > 1.0 ? Nan() : WithSignOf(far ? 1.57079633 - 2.0 * near : near, x);
}
float Acos(float x) {
  const float magnitude = Magnitude(x);
  const bool far = magnitude > 0.5;
  const float z = far ? 0.5 * (1.0 - magnitude) : magnitude * magnitude;
  const float near = AsinNear(far ? sqrt(max(z, 0.0)) : magnitude, z);
  const float outer = x < 0.0 ? 3.14159265 - 2.0 * near : 2.0 * near;
  const float inner = 1.57079633 - WithSignOf(near, x);
  return IsNan(x) || magnitude > 1.0 ? Nan() : (far ? outer : inner);
}
float Atan(float x) {
  const float magnitude = Magnitude(x);
  const bool far = magnitude > 2.41421356;
  const bool middle = !far && magnitude > 0.414213562;
  const float t = far ? -1.0 / magnitude : (middle ? (magnitude - 1.0) / (magnitude + 1.0) : magnitude);
  const float z = t * t;
  float p = -0.0643860085;
  p = p * z + 0.107400294;
  p = p * z - 0.142636535;
  p = p * z + 0.199995334;
  p = p * z - 0.333333317;
  const float near = p * z * t + t;
  return IsNan(x) ? x : WithSignOf((far ? 1.57079633 : (middle ? 0.785398163 : 0.0)) + near, x);
}

// Sinh and Cosh multiply by exp(x/2) twice, because exp(x) overflows before their results do.
float Sinh(float x) {
  const float magnitude = Magnitude(x);
  const float z = magnitude * magnitude;
  float p = 2.80629044e-6;
  p = p * z + 1.98381004e-4;
  p = p * z + 0.00833333968;
  p = p * z + 0.166666666;
  const float near = p * z * magnitude + magnitude;
  const float half_way = Exp(0.5 * magnitude);
  const float far = (0.5 * half_way) * half_way - 0.5 / half_way / half_way;
  return IsNan(x) ? x : WithSignOf(magnitude < 1.0 ? near : far, x);
}
float Cosh(float x) {
  const float half_way = Exp(0.5 * Magnitude(x));
  return (0.5 * half_way) * half_way + 0.5 / half_way / half_way;
}
float Asinh(float x) {
  const float magnitude = Magnitude(x);
  const float kept = min(magnitude, 4096.0);
  const float square = kept * kept;
  const float near = Log1p(kept + square / (1.0 + sqrt(1.0 + square)));
  return IsNan(x) ? x : WithSignOf(magnitude < 4096.0 ? near : Log(magnitude) + 0.693147181, x);
}
float Acosh(float x) {
  const float above = min(x, 4096.0) - 1.0;
  const float near = Log1p(above + sqrt(max(above, 0.0) * (above + 2.0)));
  return IsNan(x) || x < 1.0 ? Nan() : (x < 4096.0 ? near : Log(x) + 0.693147181);
}
float Atanh(float x) {
  const float magnitude = Magnitude(x);
  const float result = 0.5 * Log1p(2.0 * magnitude / (1.0 - magnitude));
  return IsNan(x) || magnitude > 1.0 ? Nan() : WithSignOf(magnitude == 1.0 ? Infinity() : result, x);
}

// The power as pow of the C library has it. Squares, cubes and square roots, which models use, are computed without Exp
// and Log.
float Pow(float x, float y) {
  const float magnitude = Magnitude(x);
  const float power = Magnitude(y);
  const bool whole = power >= 8388608.0 || y == floor(y);
  const bool odd = power < 16777216.0 && whole && (int(min(power, 16777216.0)) & 1) != 0;
  float result = Exp(y * Log(magnitude));
  result = y == 2.0 ? x * x : (y == 3.0 ? magnitude * magnitude * magnitude : (y == 0.5 ? sqrt(magnitude) : result));
  result = y == 1.0 ? magnitude : (y == -1.0 ? 1.0 / magnitude : result);
  result = magnitude == 1.0 && IsInf(y) ? 1.0 : result;
  result = x < 0.0 && !whole && !IsInf(x) ? Nan() : result;
  result = odd ? WithSignOf(result, x) : result;
  result = IsNan(x) ? x : (IsNan(y) ? y : result);
  return y == 0.0 || x == 1.0 ? 1.0 : result;
}

// The remainder with the sign of the dividend, exact as fmod of the C library: 22 bits of the quotient at a time.
float TruncatedRemainder(float a, float b) {
  const float divisor = Magnitude(b);
  float rest = Magnitude(a);
  const bool none = IsNan(a) || IsNan(b) || IsInf(a) || b == 0.0;
  // A subnormal divisor is scaled by 2^24 to get its exponent.
  const int divisor_exponent = divisor < 1e-30 ? int(floatBitsToUint(divisor * 16777216.0) >> 23) - 24
                                               : int(floatBitsToUint(divisor) >> 23);
  for (int i = 0; i < 16; ++i) {
    if (none || !(rest >= divisor)) break;
    const int excess = int(floatBitsToUint(rest) >> 23) - divisor_exponent - 22;
    const float step = excess > 0 ? ScaleByPower(divisor, excess) : divisor;
    // Large numbers are scaled by 2^-24, so that splitting them does not overflow. Their step is large, too.
    const float scale = rest > 1e30 ? 5.9604645e-8 : 1.0;
    rest = MinusProduct(rest * scale, trunc(rest / step), step * scale) / scale;
    rest = rest < 0.0 ? rest + step : rest;
  }
  return none ? Nan() : WithSignOf(rest, a);
}
// The remainder with the sign of the divisor.
float FlooredRemainder(float a, float b) {
  const float rest = TruncatedRemainder(a, b);
  return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

float Sign(float x) { return IsNan(x) ? x : (x > 0.0 ? 1.0 : 0.0) - (x < 0.0 ? 1.0 : 0.0); }

#endif  // MORE_MATH_GLSL
