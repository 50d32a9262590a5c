#version 450
//! variant one_hot.b1 T_B1
//! variant one_hot.b2 T_B2
//! variant one_hot.b4 T_B4
//! variant one_hot.b8 T_B8
// y [outer, depth, inner] is values[1] where indices [outer, inner] name the place along depth, else values[0].
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(constant_id = 0) const bool kFloatIndices = false;  // indices are float32; fractions are cut off
layout(std430, set = 0, binding = 1) readonly buffer Ix { uint ix[]; };
layout(std430, set = 0, binding = 2) readonly buffer Values { T values[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { T y[]; };
#include "index.glsl"

uint FloatIndex(uint i, uint dim) {
  const float at = trunc(uintBitsToFloat(ix[i]));
  if (!(at >= -float(dim) && at < float(dim))) return kNowhere;
  const uint place = at < 0 ? dim - uint(-at) : uint(at);
  return place < dim ? place : kNowhere;
}

void main() {
  const uint count = p[0], depth = p[1], inner = p[2], words = p[3];
  const uint i = Index();
  if (i >= count) return;
  const uint row = i / inner;
  const uint index = row / depth * inner + i % inner;
  const uint place = kFloatIndices ? FloatIndex(index, depth) : ReadIndex(index, words, depth);
  y[i] = values[place == row % depth ? 1 : 0];
}
