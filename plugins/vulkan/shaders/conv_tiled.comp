//! variant conv_tiled.f32 T_F32
//! variant conv_tiled.f16 T_F16
//! each also _long LONG_ACTIVATIONS
// Convolution for devices with fast workgroup memory: a workgroup computes 64 filters at 64 positions of an image, 8 by 8
// of them in each invocation, from tiles of 8 weights and elements for each. Weights lie as for conv.comp. Workgroups:
// tiles of positions, tiles of filters of each group, images.
#version 450
#include "common.glsl"
#include "conv.glsl"
layout(local_size_x = 64) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer W { T4 w[]; };
layout(std430, set = 0, binding = 3) readonly buffer B { T b[]; };
layout(std430, set = 0, binding = 4) readonly buffer R { T residual[]; };
layout(std430, set = 0, binding = 5) buffer Y { T y[]; };

const uint kDepth = 8;
shared vec4 w_tile[kDepth][16];  // by filter / 4
shared vec4 x_tile[kDepth][16];  // by position / 4

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint first = gl_WorkGroupID.x * 64;
  const uint tiles = (FILTER_BLOCKS + 7) / 8;
  const uint group = gl_WorkGroupID.y / tiles;
  const uint first_block = gl_WorkGroupID.y % tiles * 8;
  const uint image = gl_WorkGroupID.z;
  const uint depth = KERNEL(0) * KERNEL(1) * KERNEL(2) * CHANNELS;

  // This invocation brings the elements of one position and, for one block of filters, the weights of one step.
  const uint start = image * IMAGE + group * CHANNELS * PLANE + Start(PlaceOf(min(first + lane, POSITIONS - 1)));
  const uint w_block = min(first_block + lane / 8, FILTER_BLOCKS - 1);
  const uint w_start = (group * FILTER_BLOCKS + w_block) * depth;
  const uint w_step = lane % 8;
  // The step of the loop below as a tap and a channel.
  uvec3 tap = uvec3(0);
  uint channel = 0;

  const uint my_filters = lane / 8 * 2;
  const uint my_positions = lane % 8 * 2;
  vec4 sums[8][2];
  for (uint i = 0; i < 8; ++i) {
    sums[i][0] = vec4(0);
    sums[i][1] = vec4(0);
  }
  for (uint k = 0; k < depth; k += kDepth) {
    vec4 w_low = vec4(0);
    vec4 w_high = vec4(0);
    if (k + w_step < depth) {
      const uint at = (w_start + k + w_step) * 2;
      w_low = vec4(w[at]);
      w_high = vec4(w[at + 1]);
    }
    w_tile[w_step][lane / 8 * 2] = w_low;
    w_tile[w_step][lane / 8 * 2 + 1] = w_high;
    for (uint i = 0; i < kDepth; ++i) {
      float value = 0.0;
      if (k + i < depth) {
        value = float(x[start + tap.x * TAP(0) + tap.y * TAP(1) + tap.z * TAP(2) + channel * PLANE]);
        if (++channel == CHANNELS) {
          channel = 0;
          if (++tap.z == KERNEL(2)) {
            tap.z = 0;
            if (++tap.y == KERNEL(1)) {
              tap.y = 0;
              ++tap.x;
            }
          }
        }
      }
      x_tile[i][lane / 4][lane % 4] = value;
    }
    barrier();
    for (uint i = 0; i < kDepth; ++i) {
      const vec4 a_low = w_tile[i][my_filters];
      const vec4 a_high = w_tile[i][my_filters + 1];
      const vec4 b_low = x_tile[i][my_positions];
      const vec4 b_high = x_tile[i][my_positions + 1];
      for (uint f = 0; f < 4; ++f) {
        sums[f][0] += a_low[f] * b_low;
        sums[f][1] += a_low[f] * b_high;
        sums[f + 4][0] += a_high[f] * b_low;
        sums[f + 4][1] += a_high[f] * b_high;
      }
    }
    barrier();
  }

  const uint first_filter = first_block * 8 + my_filters * 4;
  const uint first_position = first + my_positions * 4;
  if (first_filter >= FILTERS || first_position >= POSITIONS) return;
  const uint filters = min(FILTERS - first_filter, 8);
  const uint count = min(POSITIONS - first_position, 8);
  for (uint i = 0; i < 8; ++i) {
    if (i >= filters) break;
    const uint filter_index = group * FILTERS + first_filter + i;
    const uint row = (image * GROUPS * FILTERS + filter_index) * POSITIONS;
    const float bias = kHasBias != 0 ? float(b[filter_index]) : 0.0;
    for (uint j = 0; j < 8; ++j) {
      if (j >= count) break;
      const uint at = row + first_position + j;
      float sum = sums[i][j / 4][j % 4] + bias;
      if (kHasResidual != 0) sum += float(residual[at]);
      y[at] = STORED(sum);
    }
  }
#if defined(LONG_ACTIVATIONS)
  // Once in the code, not for each sum.
  for (uint i = 0; i < filters * count; ++i) {
    const uint filter_index = group * FILTERS + first_filter + i / count;
    const uint at = (image * GROUPS * FILTERS + filter_index) * POSITIONS + first_position + i % count;
    y[at] = T(Activate(kActivation, float(y[at]), ALPHA, BETA));
  }
#endif
}
