//! variant dequantize_linear_u8.f32 T_F32 USES_8 Q=uint8_t
//! variant dequantize_linear_i8.f32 T_F32 USES_8 Q=int8_t
//! variant dequantize_linear_i32.f32 T_F32 Q=int
//! variant dequantize_linear_u8.f16 T_F16 USES_8 Q=uint8_t
//! variant dequantize_linear_i8.f16 T_F16 USES_8 Q=int8_t
//! variant dequantize_linear_i32.f16 T_F16 Q=int
// y = (x - zero point) * scale. ParameterIndex of scale_index.glsl finds the zero point and the scale.
#version 450
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
#include "scale_index.glsl"
layout(std430, set = 0, binding = 1) readonly buffer X { Q x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Scales { T scales[]; };
layout(std430, set = 0, binding = 3) readonly buffer Zeros { Q zeros[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { T y[]; };

void main() {
  const uint index = Index();
  if (index >= P_COUNT) return;
  const uint at = ParameterIndex(index);
  float value = float(int(x[index]));
  if (kHasZero != 0u) value -= float(int(zeros[at]));
  y[index] = T(value * float(scales[at]));
}
