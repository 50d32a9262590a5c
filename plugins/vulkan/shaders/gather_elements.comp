#version 450
//! variant gather_elements.b1 T_B1
//! variant gather_elements.b2 T_B2
//! variant gather_elements.b4 T_B4
//! variant gather_elements.b8 T_B8
// y[i] = x[j], where j is i with indices[i] as its position along the axis. y and indices are row-major and have the
// same shape.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Ix { uint ix[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { T y[]; };
#include "index.glsl"

void main() {
  const uint count = p[0], words = p[1], dim = p[2], stride = p[3], axes = p[4];
  const uint i = Index();
  if (i >= count) return;
  uint from = 0;
  for (uint axis = 0, rest = i; axis < axes; ++axis) {  // innermost first
    from += rest % p[5 + 2 * axis] * p[6 + 2 * axis];
    rest /= p[5 + 2 * axis];
  }
  const uint at = ReadIndex(i, words, dim);
  y[i] = T(at != kNowhere ? M(x[from + at * stride]) : M(0));
}
