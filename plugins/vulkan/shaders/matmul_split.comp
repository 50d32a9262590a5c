//! variant matmul_split_rows_1_subgroup.f32 T_F32 B_ROWS MR=1 SUBGROUP
//! variant matmul_split_rows_4_subgroup.f32 T_F32 B_ROWS MR=4 SUBGROUP
//! variant matmul_split_columns_1_subgroup.f32 T_F32 B_COLUMNS MR=1 SUBGROUP
//! variant matmul_split_columns_4_subgroup.f32 T_F32 B_COLUMNS MR=4 SUBGROUP
//! variant matmul_split_packed_1_subgroup.f32 T_F32 B_PACKED MR=1 SUBGROUP
//! variant matmul_split_packed_4_subgroup.f32 T_F32 B_PACKED MR=4 SUBGROUP
//! variant matmul_split_any_1_subgroup.f32 T_F32 B_ANY MR=1 SUBGROUP
//! variant matmul_split_any_4_subgroup.f32 T_F32 B_ANY MR=4 SUBGROUP
//! variant matmul_split_packed_1_shared.f32 T_F32 B_PACKED MR=1 SHARED
//! variant matmul_split_rows_1_subgroup.f16 T_F16 B_ROWS MR=1 SUBGROUP
//! variant matmul_split_rows_4_subgroup.f16 T_F16 B_ROWS MR=4 SUBGROUP
//! variant matmul_split_columns_1_subgroup.f16 T_F16 B_COLUMNS MR=1 SUBGROUP
//! variant matmul_split_columns_4_subgroup.f16 T_F16 B_COLUMNS MR=4 SUBGROUP
//! variant matmul_split_packed_1_subgroup.f16 T_F16 B_PACKED MR=1 SUBGROUP
//! variant matmul_split_packed_4_subgroup.f16 T_F16 B_PACKED MR=4 SUBGROUP
//! variant matmul_split_any_1_subgroup.f16 T_F16 B_ANY MR=1 SUBGROUP
//! variant matmul_split_any_4_subgroup.f16 T_F16 B_ANY MR=4 SUBGROUP
//! variant matmul_split_packed_1_shared.f16 T_F16 B_PACKED MR=1 SHARED
//! each also _long LONG_ACTIVATIONS
// GEMM with few rows: long sums are divided among invocations (rows.glsl). The invocations that share a row there share
// kAcross times four columns of MR rows here. Neighbours have neighbouring groups of four columns; after kAcross of
// them comes the next step. If columns are contiguous (B_ROWS), kAcross fills a whole line of memory; if steps are, it
// is 1. Operands have the layouts of matmul.comp.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "product.glsl"
#define ROW_CONSTANTS 3
#include "rows.glsl"

layout(constant_id = 2) const uint kAcross = 1u;  // a power of two
#ifdef B_COLUMNS
layout(std430, set = 0, binding = 1) readonly buffer Left { T4 a_data[]; };
#else
layout(std430, set = 0, binding = 1) readonly buffer Left { T a_data[]; };
#endif
#ifdef B_ANY
layout(std430, set = 0, binding = 2) readonly buffer Right { T b_data[]; };
#else
layout(std430, set = 0, binding = 2) readonly buffer Right { T4 b_data[]; };
#endif

vec4 PlusFour(vec4 a, vec4 b) { return a + b; }
ROW_MEMORY(row_fours, vec4)
ROW_FUNCTION(RowSumFour, vec4, row_fours, subgroupAdd, PlusFour)

// Sums over the row's invocations with the same number modulo `across`; each of them gets the sum.
vec4 SumOfEach(vec4 mine, uint across) {
  if (across == 1u) return RowSumFour(mine);
#ifdef SUBGROUP
  if (!kRowOfGroup) {
    if (row_step == gl_SubgroupSize) {  // a full subgroup: row_first is gl_SubgroupInvocationID
      for (uint reach = row_step / 2u; reach >= across; reach /= 2u) mine += subgroupShuffleXor(mine, reach);
      return mine;
    }
    vec4 all = vec4(0.0);
    const uint rest = row_first % across;
    for (uint i = 0u; i < across; ++i) {
      const vec4 each = subgroupAdd(rest == i ? mine : vec4(0.0));
      if (rest == i) all = each;
    }
    return all;
  }
#endif
  row_fours[row_first] = mine;
  barrier();
  for (uint count = (row_step + across - 1u) / across; count > 1u;) {
    const uint reach = (count + 1u) / 2u;
    if (row_first + reach * across < min(count * across, row_step)) row_fours[row_first] += row_fours[row_first + reach * across];
    barrier();
    count = reach;
  }
  const vec4 all = row_fours[row_first % across];
  barrier();
  return all;
}

void Compute(uint index) {
  const uint blocks = (P_N + kAcross * 4u - 1u) / (kAcross * 4u);
  const uint down = (P_M + MR - 1u) / MR;
  const uint row = index / blocks % down * MR;
  const uint batch = index / (blocks * down);
  const Offsets offsets = OffsetsOf(batch);
  // Elements outside of the matrices are computed from the last row or column and not stored.
  uint a_at[MR];
  [[unroll]] for (uint i = 0u; i < MR; ++i) a_at[i] = offsets.a + min(row + i, P_M - 1u) * P_A_ROW;
#ifdef B_COLUMNS
  [[unroll]] for (uint i = 0u; i < MR; ++i) a_at[i] /= 4u;
  const uint steps = P_K / 4u;
#else
  const uint steps = P_K;
#endif

  // If a row has fewer invocations than groups of four columns, they compute the groups one after the other.
  const uint across = min(kAcross, row_step);
  const uint parts = row_step / across;
  for (uint base = 0u; base < kAcross; base += across) {
    const uint four = base + row_first % across;
    const uint column = (index % blocks * kAcross + four) * 4u;
    const bool has_part = row_first / across < parts && four < kAcross;
    const uint part = has_part ? row_first / across : steps;
    vec4 sums[MR];
    [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i] = vec4(0.0);
#if defined(B_ROWS)
    const uint b_at = (offsets.b + min(column, P_N - 4u)) / 4u;
    const uint b_step = P_B_K / 4u;
#elif defined(B_PACKED)
    const uint b_at = min(column / 4u, (P_N - 1u) / 4u) * P_K;
#else
    uint b_at[4];
    [[unroll]] for (uint j = 0u; j < 4u; ++j) b_at[j] = offsets.b + min(column + j, P_N - 1u) * P_B_N;
#ifdef B_COLUMNS
    [[unroll]] for (uint j = 0u; j < 4u; ++j) b_at[j] /= 4u;
#endif
#endif
    for (uint k = part; k < steps; k += parts) {
#ifdef B_COLUMNS
      const vec4 b0 = vec4(b_data[b_at[0] + k]), b1 = vec4(b_data[b_at[1] + k]);
      const vec4 b2 = vec4(b_data[b_at[2] + k]), b3 = vec4(b_data[b_at[3] + k]);
      [[unroll]] for (uint i = 0u; i < MR; ++i) {
        const vec4 left = vec4(a_data[a_at[i] + k]);
        sums[i] += vec4(dot(left, b0), dot(left, b1), dot(left, b2), dot(left, b3));
      }
#else
#if defined(B_ROWS)
      const vec4 right = vec4(b_data[b_at + k * b_step]);
#elif defined(B_PACKED)
      const vec4 right = vec4(b_data[b_at + k]);
#else
      const vec4 right = vec4(b_data[b_at[0] + k * P_B_K], b_data[b_at[1] + k * P_B_K], b_data[b_at[2] + k * P_B_K],
                              b_data[b_at[3] + k * P_B_K]);
#endif
      [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i] += float(a_data[a_at[i] + k * P_A_K]) * right;
#endif
    }
    [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i] = SumOfEach(sums[i], across);

    // The invocations that have the sums divide the stores, so that the activation is in the code once.
    if (!has_part) continue;
    for (uint element = row_first / across; element < MR * 4u; element += parts) {
      const uint r = row + element / 4u, c = column + element % 4u;
      if (r >= P_M || c >= P_N) continue;
      vec4 sum = sums[0];
      [[unroll]] for (uint i = 1u; i < MR; ++i)
        if (i == element / 4u) sum = sums[i];
      const uint at = offsets.y + r * P_Y_ROW + c * P_Y_N;
      const float value = Complete(at, batch, r, c, sum[element % 4u]);
      y_data[at] = T(Activate(kActivation, value, P_P0, P_P1));
    }
  }
}

void main() {
  const uint blocks = (P_N + kAcross * 4u - 1u) / (kAcross * 4u);
  const uint all = blocks * ((P_M + MR - 1u) / MR) * P_BATCHES;
  FOR_ROWS(index, all) Compute(index);
}
