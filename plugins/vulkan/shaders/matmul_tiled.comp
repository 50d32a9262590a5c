//! variant matmul_tiled_rows.f32 T_F32 B_ROWS
//! variant matmul_tiled_columns.f32 T_F32 B_COLUMNS
//! variant matmul_tiled_packed.f32 T_F32 B_PACKED
//! variant matmul_tiled_rows.f16 T_F16 B_ROWS
//! variant matmul_tiled_columns.f16 T_F16 B_COLUMNS
//! variant matmul_tiled_packed.f16 T_F16 B_PACKED
//! variant matmul_tiled_rows_half.f16 T_F16 B_ROWS HALF
//! variant matmul_tiled_columns_half.f16 T_F16 B_COLUMNS HALF
//! variant matmul_tiled_packed_half.f16 T_F16 B_PACKED HALF
//! each also _long LONG_ACTIVATIONS
// Matrix products for devices with workgroup memory: a workgroup has a tile of 64 x 64, whose operands it reads 16 steps
// at a time into memory that its invocations share, 4 x 4 elements of the result each. Operands lie as in matmul.comp.
//
// HALF: products are float16; 16 of them are added up as such, and these sums as float.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#ifdef HALF
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define S float16_t
#define S4 f16vec4
#else
#define S float
#define S4 vec4
#endif
#define MR 4
#define NV 1
#include "product.glsl"

layout(local_size_x = 256) in;
layout(std430, set = 0, binding = 1) readonly buffer Left { T4 a_data[]; };
layout(std430, set = 0, binding = 2) readonly buffer Right { T4 b_data[]; };

const uint kTile = 64u;
const uint kSteps = 16u;
const uint kPitch = kTile + 4u;  // apart from the banks of the row before
shared S left_tile[kSteps * kPitch];
shared S right_tile[kSteps * kPitch];

void main() {
  const uint own = gl_LocalInvocationID.x;
  const uint first_row = gl_WorkGroupID.y * kTile;
  const uint first_column = gl_WorkGroupID.x * kTile;
  const uint batch = gl_WorkGroupID.z;
  const Offsets offsets = OffsetsOf(batch);

  // Which four elements of each operand this invocation fetches.
  const uint a_row = own / 4u, a_step = own % 4u * 4u;
  const uint a_base = (offsets.a + min(first_row + a_row, P_M - 1u) * P_A_ROW) / 4u;
#if defined(B_ROWS)
  const uint b_step = own / 16u, b_column = own % 16u * 4u;
  const uint b_base = (offsets.b + min(first_column + b_column, P_N - 4u)) / 4u;
#elif defined(B_COLUMNS)
  const uint b_step = own % 4u * 4u, b_column = own / 4u;
  const uint b_base = (offsets.b + min(first_column + b_column, P_N - 1u) * P_B_N) / 4u;
#else
  const uint b_step = own % 16u, b_column = own / 16u * 4u;
  const uint b_base = min((first_column + b_column) / 4u, (P_N - 1u) / 4u) * P_K;
#endif
  const uint row_in_tile = own / 16u * 4u, column_in_tile = own % 16u * 4u;
  vec4 sums[MR][NV];
  [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i][0] = vec4(0.0);

  for (uint k = 0u; k < P_K; k += kSteps) {
    S4 fetched = S4(0.0);
    if (k + a_step < P_K) fetched = S4(a_data[a_base + (k + a_step) / 4u]);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) left_tile[(a_step + j) * kPitch + a_row] = fetched[j];
    fetched = S4(0.0);
#if defined(B_ROWS)
    if (k + b_step < P_K) fetched = S4(b_data[b_base + (k + b_step) * (P_B_K / 4u)]);
#elif defined(B_COLUMNS)
    if (k + b_step < P_K) fetched = S4(b_data[b_base + (k + b_step) / 4u]);
#else
    if (k + b_step < P_K) fetched = S4(b_data[b_base + k + b_step]);
#endif
#if defined(B_COLUMNS)
    [[unroll]] for (uint j = 0u; j < 4u; ++j) right_tile[(b_step + j) * kPitch + b_column] = fetched[j];
#else
    [[unroll]] for (uint j = 0u; j < 4u; ++j) right_tile[b_step * kPitch + b_column + j] = fetched[j];
#endif
    barrier();
    S4 part[MR];
    [[unroll]] for (uint i = 0u; i < MR; ++i) part[i] = S4(0.0);
    [[unroll]] for (uint step = 0u; step < kSteps; ++step) {
      const uint a_at = step * kPitch + row_in_tile, b_at = step * kPitch + column_in_tile;
      const S4 right = S4(right_tile[b_at], right_tile[b_at + 1u], right_tile[b_at + 2u], right_tile[b_at + 3u]);
      [[unroll]] for (uint i = 0u; i < MR; ++i) part[i] += left_tile[a_at + i] * right;
    }
    [[unroll]] for (uint i = 0u; i < MR; ++i) sums[i][0] += vec4(part[i]);
    barrier();
  }

  const uint row = first_row + row_in_tile;
  const uint column = first_column + column_in_tile;
#include "product_store.glsl"
}
