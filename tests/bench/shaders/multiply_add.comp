//! variant multiply_add.f32 T_F32
//! variant multiply_add.f16 T_F16 HALF
// Multiply-adds on registers only: p[0] invocations, each with 32 chains of p[1] steps.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#ifdef HALF
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define V f16vec4
#define S float16_t
#else
#define V vec4
#define S float
#endif
layout(local_size_x = 64) in;
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

void main() {
  const uint index = Index();
  if (index >= p[0]) return;
  // The factor is below 1, so that nothing overflows. It depends on the index, so that no compiler can fold the result.
  const V factor = V(S(0.5) - S(index % 7u) * S(0.03125));
  const V summand = V(S(index % 5u) * S(0.125));
  V sums[8];
  [[unroll]] for (uint i = 0u; i < 8u; ++i) sums[i] = V(S(i));
  for (uint step = 0u; step < p[1]; ++step)
    [[unroll]] for (uint i = 0u; i < 8u; ++i) sums[i] = fma(sums[i], factor, summand);
  V sum = sums[0];
  [[unroll]] for (uint i = 1u; i < 8u; ++i) sum += sums[i];
  y[index] = T(sum.x + sum.y + sum.z + sum.w);
}
