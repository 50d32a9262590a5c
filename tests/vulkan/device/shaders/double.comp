#version 450
//! variant double.u32
// x[i] = x[i] * 2 ^ p[1] for i < p[0].
#include "common.glsl"
layout(local_size_x = 64) in;
layout(std430, binding = 1) buffer X { uint x[]; };
void main() {
  const uint i = Index();
  if (i >= p[0]) return;
  uint value = x[i];
  for (uint turn = 0; turn < p[1]; ++turn) value *= 2;
  x[i] = value;
}
