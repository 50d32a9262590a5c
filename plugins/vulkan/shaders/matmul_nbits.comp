//! variant matmul_nbits_4.f32 T_F32 USES_8 MR=4
//! variant matmul_nbits_1.f32 T_F32 USES_8 MR=1
//! variant matmul_nbits_4.f16 T_F16 USES_8 MR=4
//! variant matmul_nbits_1.f16 T_F16 USES_8 MR=1
// Products with weights of 2, 4 or 8 bits, a column after the other, in blocks that have a scale and a zero point each.
// An invocation has one column of MR rows.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kBits = 4u;
layout(constant_id = 1) const uint kZeros = 0u;  // zero points: 0: the middle, 1: packed as the weights are, 2: numbers
layout(constant_id = 2) const uint kHasBias = 0u;
layout(std430, set = 0, binding = 1) readonly buffer Left { T a[]; };
layout(std430, set = 0, binding = 2) readonly buffer Weights { uint b[]; };
layout(std430, set = 0, binding = 3) readonly buffer Scales { T scales[]; };
layout(std430, set = 0, binding = 4) readonly buffer PackedZeros { uint8_t packed_zeros[]; };
layout(std430, set = 0, binding = 5) readonly buffer Zeros { T zeros[]; };
layout(std430, set = 0, binding = 6) readonly buffer Bias { T bias[]; };
layout(std430, set = 0, binding = 7) writeonly buffer Result { T y[]; };
// The words of p[], each read once, before main, as in product.glsl.
uint P_M = p[0];
uint P_N = p[1];
uint P_K = p[2];
uint P_BLOCK = p[3];   // steps that share a scale
uint P_BLOCKS = p[4];  // of a column

const uint kMask = (1u << kBits) - 1u;
const uint kPerWord = 32u / kBits;

float ZeroOf(uint column, uint block) {
  if (kZeros == 2u) return float(zeros[column * P_BLOCKS + block]);
  if (kZeros == 0u) return float(1u << (kBits - 1u));
  const uint row = column * ((P_BLOCKS * kBits + 7u) / 8u);
  const uint bit = block * kBits;
  return float((uint(packed_zeros[row + bit / 8u]) >> (bit % 8u)) & kMask);
}

void main() {
  const uint index = Index();
  if (index >= (P_M + MR - 1u) / MR * P_N) return;
  const uint column = index % P_N;
  const uint row = index / P_N * MR;
  float sums[MR];
  uint a_at[MR];
  [[unroll]] for (uint i = 0u; i < MR; ++i) {
    sums[i] = 0.0;
    a_at[i] = min(row + i, P_M - 1u) * P_K;
  }
  for (uint block = 0u; block < P_BLOCKS; ++block) {
    const float zero = ZeroOf(column, block);
    float parts[MR];
    [[unroll]] for (uint i = 0u; i < MR; ++i) parts[i] = 0.0;
    const uint first = block * P_BLOCK;
    const uint end = min(first + P_BLOCK, P_K);
    uint at = (column * P_BLOCKS + block) * (P_BLOCK / kPerWord);
    for (uint k = first; k < end; k += kPerWord, ++at) {
      uint word = b[at];
      const uint last = min(k + kPerWord, end);
      for (uint step = k; step < last; ++step, word >>= kBits) {
        const float weight = float(word & kMask) - zero;
        [[unroll]] for (uint i = 0u; i < MR; ++i) parts[i] += float(a[a_at[i] + step]) * weight;
      }
    }
    const float scale = float(scales[column * P_BLOCKS + block]);
    [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i] += parts[i] * scale;
  }
  [[unroll]] for (uint i = 0u; i < MR; ++i) {
    if (row + i >= P_M) return;
    if (kHasBias != 0u) sums[i] += float(bias[column]);
    y[(row + i) * P_N + column] = T(sums[i]);
  }
}
