// What quantised operators share: bytes that are signed or not, and the way from real numbers back to them.

#include "quotient.glsl"

// A byte's number: of int8 when `is_signed`, else of uint8.
int ByteValue(uint stored, bool is_signed) {
  const int value = int(stored);
  return is_signed && value > 127 ? value - 256 : value;
}

// Rounded to the nearest, halves to even, moved by the zero point and kept within the type. NaN is the lowest.
uint Saturate(float scaled, float zero, bool is_signed) {
  const float low = is_signed ? -128.0 : 0.0;
  const float high = is_signed ? 127.0 : 255.0;
  const float value = roundEven(scaled) + zero;
  const float above = value > low ? value : low;
  return uint(int(above < high ? above : high)) & 255u;
}
