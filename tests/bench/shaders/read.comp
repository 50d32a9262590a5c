//! variant read.f32 T_F32
// Reads p[0] vectors of 16 bytes, each once, and uses their values so that no compiler can remove the loads.
#version 450
#include "common.glsl"
layout(local_size_x = 64) in;
layout(std430, binding = 1) readonly buffer X { vec4 x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };

void main() {
  const uint index = Index();
  if (index >= p[1]) return;
  vec4 sum = vec4(0.0);
  for (uint i = index; i < p[0]; i += p[1]) sum += x[i];
  y[index] = sum.x + sum.y + sum.z + sum.w;
}
