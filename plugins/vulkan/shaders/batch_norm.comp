//! variant batch_norm.f32 T_F32
//! variant batch_norm.f16 T_F16
// (x - mean) / sqrt(variance + epsilon) * scale + bias by channel: an invocation computes up to 16 elements of a plane.
// p: planes, channels, elements of a plane, epsilon.
#version 450
#include "common.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Scale { T scale[]; };
layout(std430, set = 0, binding = 3) readonly buffer Bias { T bias[]; };
layout(std430, set = 0, binding = 4) readonly buffer Mean { T mean[]; };
layout(std430, set = 0, binding = 5) readonly buffer Variance { T variance[]; };
layout(std430, set = 0, binding = 6) writeonly buffer Y { T y[]; };

const uint kElements = 16;

void main() {
  const uint size = p[2];
  const uint pieces = (size + kElements - 1) / kElements;
  const uint index = Index();
  const uint plane = index / pieces;
  if (plane >= p[0]) return;
  const uint channel = plane % p[1];
  const float factor = float(scale[channel]) / sqrt(float(variance[channel]) + uintBitsToFloat(p[3]));
  const float offset = float(bias[channel]) - float(mean[channel]) * factor;
  const uint first = index % pieces * kElements;
  const uint end = plane * size + min(first + kElements, size);
  for (uint at = plane * size + first; at < end; ++at) y[at] = T(float(x[at]) * factor + offset);
}
