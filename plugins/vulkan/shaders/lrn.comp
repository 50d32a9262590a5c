//! variant lrn.f32 T_F32
//! variant lrn.f16 T_F16
// x / (bias + alpha / size * sum of squares over neighbouring channels)^beta: an invocation computes one element.
// p: elements, channels, elements of a plane, channels before, channels behind, alpha / size, beta, bias.
#version 450
#include "common.glsl"
#include "math.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

void main() {
  const uint index = Index();
  if (index >= p[0]) return;
  const uint plane = p[2];
  const uint channel = index / plane % p[1];
  const uint first = channel - min(channel, p[3]);
  const uint last = min(p[1] - 1, channel + min(p[4], p[1] - 1 - channel));
  uint at = index - (channel - first) * plane;
  float squares = 0.0;
  for (uint c = first; c <= last; ++c) {
    const float value = float(x[at]);
    squares += value * value;
    at += plane;
  }
  const float base = uintBitsToFloat(p[7]) + uintBitsToFloat(p[5]) * squares;
  y[index] = T(float(x[index]) * Exp(-uintBitsToFloat(p[6]) * Log(base)));
}
