//! variant recurrent_state.f32 T_F32
//! variant recurrent_state.f16 T_F16
// Copies the state of a recurrent network, [batch, hidden], between tensors with different offsets and strides of the
// sequences. The state is zeros if none is given (kStateGiven), and for a sequence that had no steps (kStateLengths).
#version 450
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(constant_id = 0) const uint kFlags = 0u;
layout(std430, set = 0, binding = 1) readonly buffer From { T from[]; };
layout(std430, set = 0, binding = 2) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 3) writeonly buffer To { T to[]; };
#define P_COUNT p[0]
#define P_HIDDEN p[1]
#define P_FROM_OFFSET p[2]
#define P_FROM_STRIDE p[3]
#define P_TO_OFFSET p[4]
#define P_TO_STRIDE p[5]

void main() {
  const uint index = Index();
  if (index >= P_COUNT) return;
  const uint unit = index % P_HIDDEN;
  const uint sequence = index / P_HIDDEN;
  float value = 0.0;
  if ((kFlags & kStateGiven) != 0u) value = float(from[P_FROM_OFFSET + sequence * P_FROM_STRIDE + unit]);
  if ((kFlags & kStateLengths) != 0u && lengths[sequence] <= 0) value = 0.0;
  to[P_TO_OFFSET + sequence * P_TO_STRIDE + unit] = T(value);
}
