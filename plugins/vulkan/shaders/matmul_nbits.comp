//! variant matmul_nbits_4.f32 T_F32 USES_8 MR=4
//! variant matmul_nbits_1.f32 T_F32 USES_8 MR=1
//! variant matmul_nbits_4.f16 T_F16 USES_8 MR=4
//! variant matmul_nbits_1.f16 T_F16 USES_8 MR=1
//! variant matmul_nbits_4_subgroup.f32 T_F32 USES_8 MR=4 SUBGROUP
//! variant matmul_nbits_1_subgroup.f32 T_F32 USES_8 MR=1 SUBGROUP
//! variant matmul_nbits_4_subgroup.f16 T_F16 USES_8 MR=4 SUBGROUP
//! variant matmul_nbits_1_subgroup.f16 T_F16 USES_8 MR=1 SUBGROUP
// GEMM with weights of 2, 4 or 8 bits, which lie column by column in blocks that each have a scale and a zero point. An
// invocation computes one column of MR rows. SUBGROUP: the invocations that share a row in the sense of rows.glsl
// compute four columns of MR rows, and neighbours read neighbouring words of the weights.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#define ROW_CONSTANTS 3
#include "rows.glsl"

layout(constant_id = 0) const uint kBits = 4u;
layout(constant_id = 1) const uint kZeros = 0u;  // zero points; 0: mid-range, 1: packed as weights are, 2: of type T
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
uint P_BLOCKS = p[4];  // blocks of a column

const uint kMask = (1u << kBits) - 1u;
const uint kPerWord = 32u / kBits;

float ZeroOf(uint column, uint block) {
  if (kZeros == 2u) return float(zeros[column * P_BLOCKS + block]);
  if (kZeros == 0u) return float(1u << (kBits - 1u));
  const uint row = column * ((P_BLOCKS * kBits + 7u) / 8u);
  const uint bit = block * kBits;
  return float((uint(packed_zeros[row + bit / 8u]) >> (bit % 8u)) & kMask);
}

#ifdef SUBGROUP
vec4 PlusFour(vec4 a, vec4 b) { return a + b; }
ROW_MEMORY(row_fours, vec4)
ROW_FUNCTION(RowSumFour, vec4, row_fours, subgroupAdd, PlusFour)

void Compute(uint index) {
  const uint across = (P_N + 3u) / 4u;
  const uint column = index % across * 4u;
  const uint row = index / across * MR;
  const uint words_of_block = P_BLOCK / kPerWord;
  const uint words = P_BLOCKS * words_of_block;  // words of a column
  const uint inner = P_K, all_rows = P_M, all_columns = P_N;
  // Elements outside of the matrices are computed from the last row or column and not stored.
  uint a_at[MR];
  uint columns[4];
  vec4 sums[MR];
  [[unroll]] for (uint i = 0u; i < MR; ++i) {
    a_at[i] = min(row + i, P_M - 1u) * inner;
    sums[i] = vec4(0.0);
  }
  [[unroll]] for (uint j = 0u; j < 4u; ++j) columns[j] = min(column + j, P_N - 1u);

  for (uint at = row_first; at < words; at += row_step) {
    const uint block = at / words_of_block;
    const uint first = block * P_BLOCK + at % words_of_block * kPerWord;
    const uint last = min(first + kPerWord, inner);
    uvec4 word;
    vec4 zero, scale;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      word[j] = b[columns[j] * words + at];
      zero[j] = ZeroOf(columns[j], block);
      scale[j] = float(scales[columns[j] * P_BLOCKS + block]);
    }
    vec4 parts[MR];
    [[unroll]] for (uint i = 0u; i < MR; ++i) parts[i] = vec4(0.0);
    for (uint step = first; step < last; ++step, word >>= kBits) {
      const vec4 weights = vec4(word & kMask) - zero;
      [[unroll]] for (uint i = 0u; i < MR; ++i) parts[i] += float(a[a_at[i] + step]) * weights;
    }
    [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i] += parts[i] * scale;
  }
  [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i] = RowSumFour(sums[i]);
  for (uint element = row_first; element < MR * 4u; element += row_step) {
    const uint r = row + element / 4u, c = column + element % 4u;
    if (r >= all_rows || c >= all_columns) continue;
    vec4 sum = sums[0];
    [[unroll]] for (uint i = 1u; i < MR; ++i)
      if (i == element / 4u) sum = sums[i];
    float value = sum[element % 4u];
    if (kHasBias != 0u) value += float(bias[c]);
    y[r * all_columns + c] = T(value);
  }
}

void main() {
  const uint all = (P_M + MR - 1u) / MR * ((P_N + 3u) / 4u);
  FOR_ROWS(index, all) Compute(index);
}
#else
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
#endif
