#version 450
//! variant resize.f32 T_F32
//! variant resize.f16 T_F16
// Filters two axes of x [., a, ., b, .] at once. An axis has a table of `taps` pairs for each of its positions in y: a
// position in x, and its weight. A position of kNowhere makes the element the extrapolation value.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

const uint kNowhere = 0xffffffffu;

void main() {
  const uint count = p[0], inner = p[1], b_out = p[2], b_in = p[3], b_taps = p[4], b_table = p[5], middle = p[6],
             a_out = p[7], a_in = p[8], a_taps = p[9], a_table = p[10];
  const uint i = Index();
  if (i >= count) return;
  uint rest = i;
  const uint in_inner = rest % inner;
  rest /= inner;
  const uint b = b_table + rest % b_out * b_taps * 2;
  rest /= b_out;
  const uint in_middle = rest % middle;
  rest /= middle;
  const uint a = a_table + rest % a_out * a_taps * 2;
  const uint outer = rest / a_out;
  if (p[a] == kNowhere || p[b] == kNowhere) {
    y[i] = T(uintBitsToFloat(p[11]));
    return;
  }
  float sum = 0;
  for (uint s = 0; s < a_taps; ++s) {
    const uint row = ((outer * a_in + p[a + 2 * s]) * middle + in_middle) * b_in;
    float part = 0;
    for (uint t = 0; t < b_taps; ++t)
      part += uintBitsToFloat(p[b + 2 * t + 1]) * C(x[(row + p[b + 2 * t]) * inner + in_inner]);
    sum += uintBitsToFloat(p[a + 2 * s + 1]) * part;
  }
  y[i] = T(sum);
}
