//! variant quads_depthwise.i32 USES_8
//! variant quads_depthwise_requantized USES_8 REQUANTIZED
// Depthwise convolutions of bytes with one filter for each channel (quads.glsl). An invocation computes four positions
// of four channels. Weights have the layout [quad of channels][tap]. Everything else is as in quads_product.comp.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
layout(local_size_x = kLinearGroup) in;

#include "quads.glsl"
layout(constant_id = 0) const uint kFlip = 0u;
layout(constant_id = 1) const uint kZeroFlip = 0u;
layout(constant_id = 2) const uint kHasZero = 0u;
layout(constant_id = 3) const uint kHasWeightZero = 0u;
layout(constant_id = 4) const uint kBlocksOfGroup = 1u;
layout(constant_id = 5) const uint kStore = 0u;
layout(std430, set = 0, binding = 1) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 2) readonly buffer W { uint w[]; };
layout(std430, set = 0, binding = 3) readonly buffer Zero { uint8_t zero[]; };
layout(std430, set = 0, binding = 4) readonly buffer Table { ivec4 table[]; };
#include "quads_product.glsl"
#include "quads_place.glsl"

const uint kPositions = 4u;

void main() {
  const Place place = PlaceOf(kPositions, kBlocksOfGroup);
  if (place.first >= P_POSITIONS || place.block >= P_FILTER_BLOCKS) return;
  uint start[kPositions];
  const uint base = place.image * P_IMAGE + place.block * P_PLANE;
  [[unroll]] for (uint j = 0u; j < kPositions; ++j) start[j] = base + StartOf(place.first + j);
  ivec4 sums[kPositions];
  ivec4 x_sums[kPositions];
  [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
    sums[j] = ivec4(0);
    x_sums[j] = ivec4(0);
  }
  uint weight = place.block * P_KERNEL.x * P_KERNEL.y * P_KERNEL.z;
  for (uint kz = 0u; kz < P_KERNEL.x; ++kz) {
    for (uint ky = 0u; ky < P_KERNEL.y; ++ky) {
      for (uint kx = 0u; kx < P_KERNEL.z; ++kx) {
        const uint tap = kz * P_TAP.x + ky * P_TAP.y + kx * P_TAP.z;
        const ivec4 weights = ivec4(uvec4(w[weight++]) << uvec4(24u, 16u, 8u, 0u)) >> 24;
        [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
          const ivec4 values = ivec4(uvec4(x[start[j] + tap] ^ kFlip) >> uvec4(0u, 8u, 16u, 24u) & 255u);
          sums[j] += values * weights;
          if (kHasWeightZero != 0u) x_sums[j] += values;
        }
      }
    }
  }

  const int x_zero = QuadValue(kHasZero == 0u ? 0u : uint(zero[0]), kZeroFlip);
  const uint first_filter = place.block * 4u;
  const uint filters = min(P_FILTERS - first_filter, 4u);
  const uint count = min(P_POSITIONS - place.first, kPositions);
  const uint to = place.image * P_Y_IMAGE + first_filter * P_Y_FILTER + place.first * P_Y_POSITION;
  [[unroll]] for (uint f = 0u; f < 4u; ++f) {
    if (f >= filters) break;
    const ivec4 row = table[1u + first_filter + f];
#ifdef REQUANTIZED
    const ivec4 all = table[0];
    uint word = 0u;
#endif
    [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
      const int sum = sums[j][f] + row.x - x_zero * row.y - row.z * x_sums[j][f];
#ifdef REQUANTIZED
      const uint stored = Requantized(sum, row, all);
      word |= stored << (8u * j);
      if (kStore == 0u && j < count) y[to + f * P_Y_FILTER + j * P_Y_POSITION] = uint8_t(stored);
#else
      if (j < count) y[to + f * P_Y_FILTER + j * P_Y_POSITION] = sum;
#endif
    }
#ifdef REQUANTIZED
    if (kStore == 1u) y_words[(to + f * P_Y_FILTER) / 4u] = word;
#endif
  }
}
