// Shared by quantised operators: signed and unsigned bytes, and the conversion of real numbers to them.
#ifndef QUANTIZATION_GLSL
#define QUANTIZATION_GLSL

#include "quotient.glsl"

// A byte's number: of int8 when `is_signed`, else of uint8.
int ByteValue(uint stored, bool is_signed) {
  const int value = int(stored);
  return is_signed && value > 127 ? value - 256 : value;
}

// Rounded to the nearest, halves to even, moved by the zero point and kept within bounds. NaN is the lowest.
float Quantised(float scaled, float zero, float low, float high) {
  const float value = roundEven(scaled) + zero;
  const float above = value > low ? value : low;
  return above < high ? above : high;
}
// The same within the type, as a byte.
uint Saturate(float scaled, float zero, bool is_signed) {
  const float low = is_signed ? -128.0 : 0.0;
  const float high = is_signed ? 127.0 : 255.0;
  return uint(int(Quantised(scaled, zero, low, high))) & 255u;
}

#endif  // QUANTIZATION_GLSL
