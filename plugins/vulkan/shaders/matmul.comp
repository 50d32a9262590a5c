//! variant matmul_rows_8.f32 T_F32 B_ROWS MR=8 NV=2
//! variant matmul_rows_4.f32 T_F32 B_ROWS MR=4 NV=1
//! variant matmul_rows_1.f32 T_F32 B_ROWS MR=1 NV=1
//! variant matmul_columns_8.f32 T_F32 B_COLUMNS MR=8 NV=2
//! variant matmul_columns_4.f32 T_F32 B_COLUMNS MR=4 NV=1
//! variant matmul_columns_1.f32 T_F32 B_COLUMNS MR=1 NV=1
//! variant matmul_packed_8.f32 T_F32 B_PACKED MR=8 NV=2
//! variant matmul_packed_4.f32 T_F32 B_PACKED MR=4 NV=1
//! variant matmul_packed_1.f32 T_F32 B_PACKED MR=1 NV=1
//! variant matmul_any_4.f32 T_F32 B_ANY MR=4 NV=1
//! variant matmul_any_1.f32 T_F32 B_ANY MR=1 NV=1
//! variant matmul_rows_8.f16 T_F16 B_ROWS MR=8 NV=2
//! variant matmul_rows_4.f16 T_F16 B_ROWS MR=4 NV=1
//! variant matmul_rows_1.f16 T_F16 B_ROWS MR=1 NV=1
//! variant matmul_columns_8.f16 T_F16 B_COLUMNS MR=8 NV=2
//! variant matmul_columns_4.f16 T_F16 B_COLUMNS MR=4 NV=1
//! variant matmul_columns_1.f16 T_F16 B_COLUMNS MR=1 NV=1
//! variant matmul_packed_8.f16 T_F16 B_PACKED MR=8 NV=2
//! variant matmul_packed_4.f16 T_F16 B_PACKED MR=4 NV=1
//! variant matmul_packed_1.f16 T_F16 B_PACKED MR=1 NV=1
//! variant matmul_any_4.f16 T_F16 B_ANY MR=4 NV=1
//! variant matmul_any_1.f16 T_F16 B_ANY MR=1 NV=1
//! each also _long LONG_ACTIVATIONS
// GEMM without workgroup memory. An invocation computes a block of MR rows and 4 * NV columns in registers.
//
// B_ROWS: four columns of b are contiguous and aligned. B_COLUMNS: four rows of b are (the second operand is
// transposed). B_PACKED: b is [n / 4, k, 4] (PackSecondOperand). In these three, a's rows are dense, aligned and padded
// to a multiple of 4; for B_COLUMNS, k is a multiple of 4. B_ANY: any strides.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "product.glsl"

layout(local_size_x = kLinearGroup) in;
#ifdef B_ANY
layout(std430, set = 0, binding = 1) readonly buffer Left { T a_data[]; };
layout(std430, set = 0, binding = 2) readonly buffer Right { T b_data[]; };
#else
layout(std430, set = 0, binding = 1) readonly buffer Left { T4 a_data[]; };
layout(std430, set = 0, binding = 2) readonly buffer Right { T4 b_data[]; };
#endif

const uint kColumns = 4u * NV;

void main() {
  const uint across = (P_N + kColumns - 1u) / kColumns;
  const uint down = (P_M + MR - 1u) / MR;
  const uint index = Index();
  if (index >= across * down * P_BATCHES) return;
  const uint column = index % across * kColumns;
  const uint row = index / across % down * MR;
  const uint batch = index / (across * down);
  const Offsets offsets = OffsetsOf(batch);

  // Elements outside of the matrices are computed from the last row or column and not stored.
  uint a_at[MR];
  uint b_at[NV * 4];
  [[unroll]] for (uint i = 0u; i < MR; ++i) a_at[i] = offsets.a + min(row + i, P_M - 1u) * P_A_ROW;
#if defined(B_ANY) || defined(B_COLUMNS)
  [[unroll]] for (uint j = 0u; j < NV * 4u; ++j) b_at[j] = offsets.b + min(column + j, P_N - 1u) * P_B_N;
#elif defined(B_ROWS)
  [[unroll]] for (uint j = 0u; j < NV; ++j) b_at[j] = (offsets.b + min(column + j * 4u, P_N - 4u)) / 4u;
#else
  [[unroll]] for (uint j = 0u; j < NV; ++j) b_at[j] = min(column / 4u + j, (P_N - 1u) / 4u) * P_K;
#endif
  vec4 sums[MR][NV];
  [[unroll]] for (uint i = 0u; i < MR; ++i)
    [[unroll]] for (uint j = 0u; j < NV; ++j) sums[i][j] = vec4(0.0);

#ifdef B_ANY
  for (uint k = 0u; k < P_K; ++k) {
    const vec4 right = vec4(b_data[b_at[0] + k * P_B_K], b_data[b_at[1] + k * P_B_K], b_data[b_at[2] + k * P_B_K],
                            b_data[b_at[3] + k * P_B_K]);
    [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i][0] += float(a_data[a_at[i] + k * P_A_K]) * right;
  }
#else
  [[unroll]] for (uint i = 0u; i < MR; ++i) a_at[i] /= 4u;
  const uint steps = P_K / 4u;
#ifdef B_ROWS
  const uint b_step = P_B_K / 4u;
#elif defined(B_COLUMNS)
  [[unroll]] for (uint j = 0u; j < NV * 4u; ++j) b_at[j] /= 4u;
#endif
  for (uint step = 0u; step < steps; ++step) {
    vec4 left[MR];
    [[unroll]] for (uint i = 0u; i < MR; ++i) left[i] = vec4(a_data[a_at[i] + step]);
    [[unroll]] for (uint j = 0u; j < NV; ++j) {
#ifdef B_COLUMNS
      const vec4 b0 = vec4(b_data[b_at[j * 4u] + step]);
      const vec4 b1 = vec4(b_data[b_at[j * 4u + 1u] + step]);
      const vec4 b2 = vec4(b_data[b_at[j * 4u + 2u] + step]);
      const vec4 b3 = vec4(b_data[b_at[j * 4u + 3u] + step]);
      [[unroll]] for (uint i = 0u; i < MR; ++i)
        sums[i][j] += vec4(dot(left[i], b0), dot(left[i], b1), dot(left[i], b2), dot(left[i], b3));
#else
#ifdef B_ROWS
      const uint at = b_at[j] + step * 4u * b_step;
#else
      const uint at = b_at[j] + step * 4u;
      const uint b_step = 1u;
#endif
      const vec4 b0 = vec4(b_data[at]);
      const vec4 b1 = vec4(b_data[at + b_step]);
      const vec4 b2 = vec4(b_data[at + 2u * b_step]);
      const vec4 b3 = vec4(b_data[at + 3u * b_step]);
      [[unroll]] for (uint i = 0u; i < MR; ++i)
        sums[i][j] += left[i].x * b0 + left[i].y * b1 + left[i].z * b2 + left[i].w * b3;
#endif
    }
  }
#ifndef B_COLUMNS
  if (steps * 4u < P_K) {
    vec4 left[MR];
    [[unroll]] for (uint i = 0u; i < MR; ++i) left[i] = vec4(a_data[a_at[i] + steps]);
    [[unroll]] for (uint rest = 0u; rest < 3u; ++rest) {
      const uint k = steps * 4u + rest;
      if (k >= P_K) break;
      [[unroll]] for (uint j = 0u; j < NV; ++j) {
#ifdef B_ROWS
        const vec4 right = vec4(b_data[b_at[j] + k * b_step]);
#else
        const vec4 right = vec4(b_data[b_at[j] + k]);
#endif
        [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i][j] += left[i][rest] * right;
      }
    }
  }
#endif
#endif

#include "product_store.glsl"
}
