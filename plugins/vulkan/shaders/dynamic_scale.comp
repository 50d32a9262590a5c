//! variant dynamic_scale.f32 T_F32 USES_8
// Computes the scale and zero point of uint8 for a tensor from the ranges of its P_PARTS parts (value_range.comp).
#version 450
#include "common.glsl"
#include "math.glsl"

layout(local_size_x = 1) in;
#include "quantization.glsl"
layout(std430, set = 0, binding = 1) readonly buffer Parts { vec2 parts[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Scale { float scale[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Zero { uint8_t zero[]; };
// The words of p[], each read once, before main, as in product.glsl.
uint P_PARTS = p[0];

void main() {
  float low = 0.0, high = 0.0;
  for (uint i = 0u; i < P_PARTS; ++i) {
    low = Smaller(low, parts[i].x);
    high = Larger(high, parts[i].y);
  }
  const float step = high == low ? 1.0 : Quotient(high - low, 255.0);  // any scale but zero will do if all are zeros
  scale[0] = step;
  zero[0] = uint8_t(Saturate(Quotient(-low, step), 0.0, false));
}
