#version 450
//! variant add.u32
// y[i] = x[i] * kFactor + p[1] for i < p[0].
#include "common.glsl"
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kFactor = 1;
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };
void main() {
  const uint i = Index();
  if (i < p[0]) y[i] = x[i] * kFactor + p[1];
}
