//! variant conv_border.b4 T_B4
//! variant conv_border.b2 T_B2
// Copies planes with zeros around them, or without some elements at their edges. An invocation writes up to 16 elements
// of a row.
#version 450
#include "common.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

const uint kElements = 16;

void main() {
  const uint planes = p[0];
  const ivec3 in_size = ivec3(p[1], p[2], p[3]);
  const ivec3 out_size = ivec3(p[4], p[5], p[6]);
  const ivec3 before = ivec3(p[7], p[8], p[9]);
  const uint pieces = (uint(out_size.z) + kElements - 1) / kElements;
  uint index = Index();
  const uint first = index % pieces * kElements;
  index /= pieces;
  const uint out_row = index;
  const int at_y = int(index % uint(out_size.y)) - before.y;
  index /= uint(out_size.y);
  const int at_z = int(index % uint(out_size.x)) - before.x;
  const uint plane = index / uint(out_size.x);
  if (plane >= planes) return;

  const bool inside = at_y >= 0 && at_y < in_size.y && at_z >= 0 && at_z < in_size.x;
  const uint in_row = inside ? ((plane * uint(in_size.x) + uint(at_z)) * uint(in_size.y) + uint(at_y)) : 0;
  const uint to = out_row * uint(out_size.z);
  const uint end = min(first + kElements, uint(out_size.z));
  for (uint i = first; i < end; ++i) {
    const int at_x = int(i) - before.z;
    M value = 0u;
    if (inside && at_x >= 0 && at_x < in_size.z) value = M(x[in_row * uint(in_size.z) + uint(at_x)]);
    y[to + i] = T(value);
  }
}
