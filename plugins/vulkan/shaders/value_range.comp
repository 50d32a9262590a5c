//! variant value_range.f32 T_F32
// Each invocation writes the minimum and maximum of 0 and every P_PARTS-th element, beginning with its own index. Both
// are NaN if one of the elements is.
#version 450
#include "common.glsl"
#include "math.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Parts { vec2 parts[]; };
// The words of p[], each read once, before main, as in product.glsl.
uint P_COUNT = p[0];
uint P_PARTS = p[1];

void main() {
  const uint own = Index();
  if (own >= P_PARTS) return;
  float low = 0.0, high = 0.0;
  for (uint i = own; i < P_COUNT; i += P_PARTS) {
    low = Smaller(low, x[i]);
    high = Larger(high, x[i]);
  }
  parts[own] = vec2(low, high);
}
