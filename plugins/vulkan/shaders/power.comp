// Pow with integer bases and float exponents.
//! variant power.i32 T_I32 INPUTS=2
//! variant power.i64 T_I64 INPUTS=2
#version 450
#include "common.glsl"

#define PARAMETERS 0u
#include "map.glsl"
#include "integer_math.glsl"
#include "integer_of_float.glsl"
#include "more_math.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Bases { T base[]; };
layout(std430, set = 0, binding = 2) readonly buffer Exponents { float exponent[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Result { T y[]; };

void main() {
  const uint i = Index();
  if (i >= p[0]) return;
  uint at[2];
  Locate(i, at);
  const C x = base[at[0]];
  const float by = exponent[at[1]];
  // A whole exponent gives the exact result.
  if (by == floor(by) && Magnitude(by) < 64.0) {
    y[i] = Power(x, C(int(by)));
  } else {
#ifdef T_I64
    y[i] = LongOfFloat(Pow(float(x), by));
#else
    y[i] = IntOfFloat(Pow(float(x), by));
#endif
  }
}
