//! variant conv.f32 T_F32
//! variant conv.f16 T_F16
//! each also _long LONG_ACTIVATIONS
// Convolution without barriers. An invocation computes 8 filters at 8 positions, with weights in the layout
// [block of 8 filters][tap][channel][8]. Each element of x and each weight that is loaded serves 8 products.
#version 450
#include "common.glsl"
#include "conv.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer W { T4 w[]; };
layout(std430, set = 0, binding = 3) readonly buffer B { T b[]; };
layout(std430, set = 0, binding = 4) readonly buffer R { T residual[]; };
layout(std430, set = 0, binding = 5) buffer Y { T y[]; };

const uint kPositions = 8;

void main() {
  uint index = Index();
  const uint first = index % BLOCKS * kPositions;
  index /= BLOCKS;
  const uint block = index % (GROUPS * FILTER_BLOCKS);
  const uint image = index / (GROUPS * FILTER_BLOCKS);
  if (image >= IMAGES) return;
  const uint group = block / FILTER_BLOCKS;

  // Positions beyond the last one are computed as the last one, and not stored.
  uint start[kPositions];
  const uint base = image * IMAGE + group * CHANNELS * PLANE;
  Place place = PlaceOf(first);
  for (uint j = 0; j < kPositions; ++j) {
    start[j] = base + Start(place);
    if (first + j + 1 < POSITIONS) place = Next(place);
  }

  vec4 low[kPositions];
  vec4 high[kPositions];
  for (uint j = 0; j < kPositions; ++j) {
    low[j] = vec4(0);
    high[j] = vec4(0);
  }
  // Words are loaded outside of loops: in their conditions they would be loaded each time.
  const uvec3 kernel = uvec3(KERNEL(0), KERNEL(1), KERNEL(2));
  const uvec3 tap_size = uvec3(TAP(0), TAP(1), TAP(2));
  const uint channels = CHANNELS;
  const uint plane = PLANE;
  uint weight = block * kernel.x * kernel.y * kernel.z * channels * 2;
  for (uint kz = 0; kz < kernel.x; ++kz) {
    for (uint ky = 0; ky < kernel.y; ++ky) {
      for (uint kx = 0; kx < kernel.z; ++kx) {
        uint tap = kz * tap_size.x + ky * tap_size.y + kx * tap_size.z;
        for (uint c = 0; c < channels; ++c) {
          const vec4 w_low = vec4(w[weight]);
          const vec4 w_high = vec4(w[weight + 1]);
          for (uint j = 0; j < kPositions; ++j) {
            const float value = float(x[start[j] + tap]);
            low[j] += w_low * value;
            high[j] += w_high * value;
          }
          weight += 2;
          tap += plane;
        }
      }
    }
  }

  const uint first_filter = (block - group * FILTER_BLOCKS) * 8;
  const uint filters = min(FILTERS - first_filter, 8);
  const uint count = min(POSITIONS - first, kPositions);
  for (uint i = 0; i < 8; ++i) {
    if (i >= filters) break;
    const uint filter_index = group * FILTERS + first_filter + i;
    const uint row = (image * GROUPS * FILTERS + filter_index) * POSITIONS;
    const float bias = kHasBias != 0 ? float(b[filter_index]) : 0.0;
    for (uint j = 0; j < kPositions; ++j) {
      if (j >= count) break;
      float sum = (i < 4 ? low[j][i & 3] : high[j][i & 3]) + bias;
      if (kHasResidual != 0) sum += float(residual[row + first + j]);
      y[row + first + j] = STORED(sum);
    }
  }
#if defined(LONG_ACTIVATIONS)
  // The activation is in the code once, in this loop, instead of at each sum.
  for (uint i = 0; i < filters * count; ++i) {
    const uint row = (image * GROUPS + group) * FILTERS + first_filter + i / count;
    const uint at = row * POSITIONS + first + i % count;
    y[at] = T(Activate(kActivation, float(y[at]), ALPHA, BETA));
  }
#endif
}
