// Truncates floats to integers, as Cast does. NaN and numbers out of range give the integer that has the sign bit
// alone.
#ifndef INTEGER_OF_FLOAT_GLSL
#define INTEGER_OF_FLOAT_GLSL

int IntOfFloat(float x) {
  const bool fits = x < 2147483648.0 && x >= -2147483648.0;
  return fits ? int(fits ? x : 0.0) : int(0x80000000u);
}
// The lower 32 bits of the float truncated to 64 bits.
uint UintOfFloat(float x) {
  const float magnitude = abs(trunc(x));
  if (!(magnitude < 9223372036854775808.0)) return 0u;
  precise const float low = magnitude - floor(magnitude * 2.3283064365386963e-10) * 4294967296.0;
  const uint value = low >= 2147483648.0 ? uint(low - 2147483648.0) + 0x80000000u : uint(low);
  return x < 0.0 ? 0u - value : value;
}
#if defined(T_I64) || defined(USES_I64)
int64_t LongOfFloat(float x) {
  const bool fits = x < 9223372036854775808.0 && x >= -9223372036854775808.0;
  return fits ? int64_t(fits ? x : 0.0) : int64_t(1) << 63;
}
#endif

#endif  // INTEGER_OF_FLOAT_GLSL
