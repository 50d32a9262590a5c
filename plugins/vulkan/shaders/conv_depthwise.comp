//! variant conv_depthwise.f32 T_F32
//! variant conv_depthwise.f16 T_F16
//! each also _long LONG_ACTIVATIONS
// Depthwise convolution: each filter reads one channel, and an invocation computes 8 positions of one filter. Weights
// have the model's layout, [filter][tap].
#version 450
#include "common.glsl"
#include "conv.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer W { T w[]; };
layout(std430, set = 0, binding = 3) readonly buffer B { T b[]; };
layout(std430, set = 0, binding = 4) readonly buffer R { T residual[]; };
layout(std430, set = 0, binding = 5) buffer Y { T y[]; };

const uint kPositions = 8;

void main() {
  uint index = Index();
  const uint first = index % BLOCKS * kPositions;
  index /= BLOCKS;
  const uint filter_index = index % (GROUPS * FILTERS);
  const uint image = index / (GROUPS * FILTERS);
  if (image >= IMAGES) return;

  uint start[kPositions];
  float sums[kPositions];
  const uint base = image * IMAGE + filter_index / FILTERS * PLANE;
  Place place = PlaceOf(first);
  for (uint j = 0; j < kPositions; ++j) {
    start[j] = base + Start(place);
    sums[j] = 0.0;
    if (first + j + 1 < POSITIONS) place = Next(place);
  }
  // Words are loaded outside of loops: in their conditions they would be loaded each time.
  const uvec3 kernel = uvec3(KERNEL(0), KERNEL(1), KERNEL(2));
  const uvec3 tap_size = uvec3(TAP(0), TAP(1), TAP(2));
  uint weight = filter_index * kernel.x * kernel.y * kernel.z;
  for (uint kz = 0; kz < kernel.x; ++kz) {
    for (uint ky = 0; ky < kernel.y; ++ky) {
      uint tap = kz * tap_size.x + ky * tap_size.y;
      for (uint kx = 0; kx < kernel.z; ++kx) {
        const float weight_value = float(w[weight]);
        for (uint j = 0; j < kPositions; ++j) sums[j] += weight_value * float(x[start[j] + tap]);
        ++weight;
        tap += tap_size.z;
      }
    }
  }
  const float bias = kHasBias != 0 ? float(b[filter_index]) : 0.0;
  const uint row = (image * GROUPS * FILTERS + filter_index) * POSITIONS + first;
  const uint count = min(POSITIONS - first, kPositions);
  for (uint j = 0; j < kPositions; ++j) {
    if (j >= count) break;
    float sum = sums[j] + bias;
    if (kHasResidual != 0) sum += float(residual[row + j]);
    y[row + j] = STORED(sum);
  }
#if defined(LONG_ACTIVATIONS)
  // The activation is in the code once, in this loop, instead of at each sum.
  for (uint j = 0; j < count; ++j) y[row + j] = T(Activate(kActivation, float(y[row + j]), ALPHA, BETA));
#endif
}
