//! variant quantize_linear.f32 T_F32 USES_8
//! variant quantize_linear.f16 T_F16 USES_8
// y = saturate(round(x / scale) + zero point). ParameterIndex of scale_index.glsl finds the zero point and the scale.
#version 450
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
#include "quantization.glsl"
#include "scale_index.glsl"
layout(constant_id = 2) const uint kSigned = 0u;  // int8, else uint8
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Scales { T scales[]; };
layout(std430, set = 0, binding = 3) readonly buffer Zeros { uint8_t zeros[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { uint8_t y[]; };

void main() {
  const uint index = Index();
  if (index >= P_COUNT) return;
  const uint at = ParameterIndex(index);
  const float zero = kHasZero != 0u ? float(ByteValue(uint(zeros[at]), kSigned != 0u)) : 0.0;
  y[index] = uint8_t(Saturate(Quotient(float(x[index]), float(scales[at])), zero, kSigned != 0u));
}
