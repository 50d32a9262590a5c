// Shared by quantised operators: signed and unsigned bytes, and the conversion of real numbers to them.
#ifndef QUANTIZATION_GLSL
#define QUANTIZATION_GLSL

#include "quotient.glsl"

// The number that a byte holds: int8 if `is_signed`, else uint8.
int ByteValue(uint stored, bool is_signed) {
  const int value = int(stored);
  return is_signed && value > 127 ? value - 256 : value;
}

// Rounds to the nearest integer, halves to even, adds the zero point and clamps to the bounds. NaN becomes the lower
// bound.
float Quantised(float scaled, float zero, float low, float high) {
  const float value = roundEven(scaled) + zero;
  const float above = value > low ? value : low;
  return above < high ? above : high;
}
// Quantises to int8 if `is_signed`, else to uint8, and returns the byte.
uint Saturate(float scaled, float zero, bool is_signed) {
  const float low = is_signed ? -128.0 : 0.0;
  const float high = is_signed ? 127.0 : 255.0;
  return uint(int(Quantised(scaled, zero, low, high))) & 255u;
}

#endif  // QUANTIZATION_GLSL
