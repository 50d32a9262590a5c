// Quotients of floats, rounded as IEEE 754 demands. Drivers multiply by the reciprocal, which can change the last bit.
// That bit decides on which side of a half a quotient lies, which quantisation rounds next. Its result must be the same
// whether a model writes it as one operator or as several.
#ifndef QUOTIENT_GLSL
#define QUOTIENT_GLSL

// x - n * y for n and y below 2^115; exact if the result is a float. The product is computed as the sum of two floats,
// and is right whether or not the device fuses multiplications with additions (T. Dekker, "A floating-point technique
// for extending the available precision", 1971).
float MinusProduct(float x, float n, float y) {
  precise const float n_split = n * 4097.0;
  precise const float n_high = n_split - (n_split - n);
  precise const float n_low = n - n_high;
  precise const float y_split = y * 4097.0;
  precise const float y_high = y_split - (y_split - y);
  precise const float y_low = y - y_high;
  precise const float product = n * y;
  precise const float error = ((n_high * y_high - product) + n_high * y_low + n_low * y_high) + n_low * y_low;
  precise const float result = (x - product) - error;
  return result;
}

float Quotient(float a, float b) {
  precise const float reciprocal = 1.0 / b;
  precise const float near = a * reciprocal;
  precise const float quotient = near + MinusProduct(a, near, b) * reciprocal;
  const float magnitude = abs(quotient);
  const float divisor = abs(b);
  const bool ordinary = magnitude > 1e-30 && magnitude < 1e30 && divisor > 1e-30 && divisor < 1e30;
  return ordinary ? quotient : a / b;  // a / b is right for NaN and infinities, too
}

#endif  // QUOTIENT_GLSL
