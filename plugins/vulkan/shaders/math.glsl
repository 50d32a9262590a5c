// Functions of floats, to a few units in the last place on every driver: what GLSL has built in may be far off (exp of
// large numbers), overflow in between (tanh) or not be there (erf). NaN and infinities come out as IEEE and numpy have
// them. float, whatever the elements' type.

// Not isnan and isinf: drivers may assume that there are none.
bool IsNan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool IsInf(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
float Infinity() { return uintBitsToFloat(0x7f800000u); }
float Nan() { return uintBitsToFloat(0x7fc00000u); }

// x * 2^n for n within -250 and 250.
float ScaleByPower(float x, int n) {
  const int half_n = n / 2;
  return x * intBitsToFloat((half_n + 127) << 23) * intBitsToFloat((n - half_n + 127) << 23);
}

// exp(r) - 1 for |r| <= ln(2) / 2.
float SmallExpm1(float r) {
  float q = 1.0 / 5040.0;
  q = q * r + 1.0 / 720.0;
  q = q * r + 1.0 / 120.0;
  q = q * r + 1.0 / 24.0;
  q = q * r + 1.0 / 6.0;
  q = q * r + 0.5;
  return q * r * r + r;
}

float Exp(float x) {
  if (IsNan(x)) return x;
  if (x > 88.73) return Infinity();
  if (x < -103.98) return 0.0;
  const float n = roundEven(x * 1.44269504);
  const float r = (x - n * 0.693359375) + n * 2.12194440e-4;
  return ScaleByPower(1.0 + SmallExpm1(r), int(n));
}

float Expm1(float x) {
  if (abs(x) < 0.34) return SmallExpm1(x);
  return Exp(x) - 1.0;
}

float Log(float x) {
  if (IsNan(x) || x < 0.0) return Nan();
  if (x == 0.0) return -Infinity();
  if (IsInf(x)) return x;
  int e = 0;
  if (x < 1.17549435e-38) {
    x *= 8388608.0;
    e = -23;
  }
  const uint bits = floatBitsToUint(x);
  e += int(bits >> 23) - 127;
  float m = uintBitsToFloat((bits & 0x007fffffu) | 0x3f800000u);
  if (m > 1.41421356) {
    m *= 0.5;
    ++e;
  }
  const float f = m - 1.0;
  const float s = f / (2.0 + f);
  const float z = s * s;
  // 2 atanh(s) = 2 s + 2 s^3 / 3 + …
  const float tail = z * (0.66666667 + z * (0.4 + z * (0.28571429 + z * (0.22222222 + z * 0.18181818))));
  return (s * (2.0 + tail) + float(e) * -2.12194440e-4) + float(e) * 0.693359375;
}

float Log1p(float x) {
  if (abs(x) < 0.3) {
    const float s = x / (2.0 + x);
    const float z = s * s;
    return s * (2.0 + z * (0.66666667 + z * (0.4 + z * (0.28571429 + z * (0.22222222 + z * 0.18181818)))));
  }
  return Log(1.0 + x);
}

float Tanh(float x) {
  const float a = abs(x);
  if (a < 0.3) {
    const float z = x * x;
    return x * (1.0 + z * (-0.33333333 + z * (0.13333333 + z * (-0.053968254 + z * (0.021869488 + z * -0.0088632355)))));
  }
  const float t = Exp(-2.0 * a);
  const float y = (1.0 - t) / (1.0 + t);
  return x < 0.0 ? -y : y;
}

float Sigmoid(float x) {
  const float t = Exp(-abs(x));
  return x < 0.0 ? t / (1.0 + t) : 1.0 / (1.0 + t);
}

float Softplus(float x) { return max(x, 0.0) + Log1p(Exp(-abs(x))) + (IsNan(x) ? x : 0.0); }

// The series up to x^13 near 0; beyond, 1 - erfc by the rational Chebyshev fit of Numerical Recipes (1.2e-7).
float Erf(float x) {
  const float a = abs(x);
  if (a < 0.6) {
    const float z = x * x;
    return x * (1.128379167 +
                z * (-0.376126389 + z * (0.112837917 + z * (-0.0268661706 + z * (5.22397762e-3 +
                z * (-8.54832702e-4 + z * 1.20553330e-4))))));
  }
  const float t = 1.0 / (1.0 + 0.5 * a);
  const float series =
      -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * (0.27886807 +
      t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  const float y = 1.0 - t * Exp(-a * a + series);
  return x < 0.0 ? -y : y;
}
