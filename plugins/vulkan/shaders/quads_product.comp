//! variant quads_product_8.i32 USES_8 MR=8
//! variant quads_product_1.i32 USES_8 MR=1
//! variant quads_product_requantized_8 USES_8 MR=8 REQUANTIZED
//! variant quads_product_requantized_1 USES_8 MR=1 REQUANTIZED
//! variant quads_product_dot_8.i32 USES_8 MR=8 DOT_PRODUCT
//! variant quads_product_dot_1.i32 USES_8 MR=1 DOT_PRODUCT
//! variant quads_product_requantized_dot_8 USES_8 MR=8 REQUANTIZED DOT_PRODUCT
//! variant quads_product_requantized_dot_1 USES_8 MR=1 REQUANTIZED DOT_PRODUCT
// Convolutions and GEMMs of bytes, four products a word (quads.glsl), without barriers. An invocation computes MR
// positions of 8 filters. Weights have the layout [group][block of 8 filters][tap][quad of channels][8]. The input has
// its border already, so that a tap of an output position is a fixed distance away. A GEMM is a convolution with one
// tap; its rows are the positions.
//
// If there are enough positions, all invocations of a workgroup have the same block of filters, and its weights are
// loaded once.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
layout(local_size_x = kLinearGroup) in;

#include "quads.glsl"
layout(constant_id = 0) const uint kFlip = 0u;        // XOR mask of an input that is not in quads: 0x80808080 or 0
layout(constant_id = 1) const uint kZeroFlip = 0u;    // XOR mask of the input's zero point: 0x80 or 0
layout(constant_id = 2) const uint kHasZero = 0u;
layout(constant_id = 3) const uint kHasWeightZero = 0u;  // the zero point of some filter isn't 0
layout(constant_id = 4) const uint kBlocksOfGroup = 1u;  // blocks of filters of a workgroup: a divisor of 64
layout(constant_id = 5) const uint kStore = 0u;  // stores bytes singly (0), in words of positions (1) or of filters (2)
layout(std430, set = 0, binding = 1) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 2) readonly buffer W { uvec4 w[]; };
layout(std430, set = 0, binding = 3) readonly buffer Zero { uint8_t zero[]; };
layout(std430, set = 0, binding = 4) readonly buffer Table { ivec4 table[]; };
#include "quads_product.glsl"
#include "quads_place.glsl"

void main() {
  const Place place = PlaceOf(MR, kBlocksOfGroup);
  const uint block = place.block, first = place.first, image = place.image;
  if (first >= P_POSITIONS || block >= P_GROUPS * P_FILTER_BLOCKS) return;
  const uint group = block / P_FILTER_BLOCKS;
  uint start[MR];
  const uint base = image * P_IMAGE + group * P_GROUP;
  [[unroll]] for (uint j = 0u; j < MR; ++j) start[j] = base + StartOf(first + j);
  int sums[MR][8];
  int x_sums[MR];
  [[unroll]] for (uint j = 0u; j < MR; ++j) {
    x_sums[j] = 0;
    [[unroll]] for (uint f = 0u; f < 8u; ++f) sums[j][f] = 0;
  }
  uint weight = block * P_KERNEL.x * P_KERNEL.y * P_KERNEL.z * P_QUADS * 2u;
  for (uint kz = 0u; kz < P_KERNEL.x; ++kz) {
    for (uint ky = 0u; ky < P_KERNEL.y; ++ky) {
      for (uint kx = 0u; kx < P_KERNEL.z; ++kx) {
        uint tap = kz * P_TAP.x + ky * P_TAP.y + kx * P_TAP.z;
        for (uint q = 0u; q < P_QUADS; ++q) {
          const uvec4 low = w[weight], high = w[weight + 1u];
          weight += 2u;
          uint words[MR];
          [[unroll]] for (uint j = 0u; j < MR; ++j) words[j] = x[start[j] + tap] ^ kFlip;
          tap += P_PLANE;
#ifdef DOT_PRODUCT
          [[unroll]] for (uint j = 0u; j < MR; ++j) {
            [[unroll]] for (uint f = 0u; f < 8u; ++f)
              sums[j][f] += SignedDot(int(words[j]), int(f < 4u ? low[f & 3u] : high[f & 3u]), 0);
            if (kHasWeightZero != 0u) x_sums[j] += SignedDot(int(words[j]), 0x01010101, 0);
          }
#else
          [[unroll]] for (int lane = 0; lane < 4; ++lane) {
            const ivec4 low_lane = ivec4(low << (24 - 8 * lane)) >> 24;
            const ivec4 high_lane = ivec4(high << (24 - 8 * lane)) >> 24;
            [[unroll]] for (uint j = 0u; j < MR; ++j) {
              const int value = int(lane == 3 ? words[j] >> 24 : words[j] >> (8 * lane) & 255u);
              [[unroll]] for (uint f = 0u; f < 8u; ++f)
                sums[j][f] += value * (f < 4u ? low_lane[f & 3u] : high_lane[f & 3u]);
              if (kHasWeightZero != 0u) x_sums[j] += value;
            }
          }
#endif
        }
      }
    }
  }

  const int x_zero = QuadValue(kHasZero == 0u ? 0u : uint(zero[0]), kZeroFlip);
  const uint first_filter = (block - group * P_FILTER_BLOCKS) * 8u;
  const uint filters = min(P_FILTERS - first_filter, 8u);
  const uint count = min(P_POSITIONS - first, MR);
  const uint to = image * P_Y_IMAGE + (group * P_FILTERS + first_filter) * P_Y_FILTER + first * P_Y_POSITION;
#ifdef REQUANTIZED
  const ivec4 all = table[0];
  uint bytes[MR][8];
#endif
  [[unroll]] for (uint f = 0u; f < 8u; ++f) {
    const ivec4 row = table[1u + group * P_FILTERS + first_filter + min(f, filters - 1u)];
    [[unroll]] for (uint j = 0u; j < MR; ++j) {
      const int sum = sums[j][f] + row.x - x_zero * row.y - row.z * x_sums[j];
#ifdef REQUANTIZED
      bytes[j][f] = Requantized(sum, row, all);
#else
      if (f < filters && j < count) y[to + f * P_Y_FILTER + j * P_Y_POSITION] = sum;
#endif
    }
  }
#ifdef REQUANTIZED
  if (kStore == 1u) {
    [[unroll]] for (uint f = 0u; f < 8u; ++f) {
      if (f >= filters) break;
      [[unroll]] for (uint j = 0u; j + 3u < MR; j += 4u)
        if (j < count)
          y_words[(to + f * P_Y_FILTER + j) / 4u] =
              bytes[j][f] | bytes[j + 1u][f] << 8 | bytes[j + 2u][f] << 16 | bytes[j + 3u][f] << 24;
    }
    return;
  }
  [[unroll]] for (uint j = 0u; j < MR; ++j) {
    if (j >= count) break;
    if (kStore == 2u) {
      [[unroll]] for (uint f = 0u; f < 8u; f += 4u)
        if (f < filters)
          y_words[(to + j * P_Y_POSITION + f) / 4u] =
              bytes[j][f] | bytes[j][f + 1u] << 8 | bytes[j][f + 2u] << 16 | bytes[j][f + 3u] << 24;
    } else {
      [[unroll]] for (uint f = 0u; f < 8u; ++f)
        if (f < filters) y[to + f * P_Y_FILTER + j * P_Y_POSITION] = uint8_t(bytes[j][f]);
    }
  }
#endif
}
