//! variant conv_pack.b4 T_B4
//! variant conv_pack.b2 T_B2
// Brings weights that the device computed into the order of conv.comp: [group][block of 8 filters][tap][channel][8],
// with zeros for filters that a group's last block lacks. p: groups, filters and channels of a group, taps, and the
// strides of groups, filters and channels in the model's tensor.
#version 450
#include "common.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

void main() {
  const uint at = Index();
  const uint blocks = (p[1] + 7) / 8;
  uint index = at;
  const uint lane = index % 8;
  index /= 8;
  const uint channel = index % p[2];
  index /= p[2];
  const uint tap = index % p[3];
  index /= p[3];
  const uint block = index % blocks;
  const uint group = index / blocks;
  if (group >= p[0]) return;
  const uint filter_index = block * 8 + lane;
  M value = 0u;
  if (filter_index < p[1]) value = M(x[group * p[4] + filter_index * p[5] + channel * p[6] + tap]);
  y[at] = T(value);
}
