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
// GEMM with tiles in workgroup memory. Operands have the layouts of matmul.comp.
#version 450
#include "common.glsl"
#define RESULT_IS_READ
#include "product.glsl"
#define TILE_CONSTANTS 2
#define LEFT_ALONG_STEPS
#ifdef B_COLUMNS
#define RIGHT_ALONG_STEPS
#endif
#include "tiles.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Left { T4 a_data[]; };
layout(std430, set = 0, binding = 2) readonly buffer Right { T4 b_data[]; };

uint first_row = gl_WorkGroupID.y * kTile;
uint first_column = gl_WorkGroupID.x * kTile;
Offsets offsets = OffsetsOf(gl_WorkGroupID.z);

uint Steps() { return P_K; }

S4 FetchLeft(uint i, uint k) {
  const uint row = min(first_row + LineOf(i), P_M - 1u), step = k + StepOf(i);
  return step < P_K ? S4(a_data[(offsets.a + row * P_A_ROW + step) / 4u]) : S4(0.0);
}

// Neighbouring invocations read what lies side by side.
#if defined(B_COLUMNS)
S4 FetchRight(uint i, uint k) {
  const uint column = min(first_column + LineOf(i), P_N - 1u), step = k + StepOf(i);
  return step < P_K ? S4(b_data[(offsets.b + column * P_B_N + step) / 4u]) : S4(0.0);
}
#elif defined(B_ROWS)
S4 FetchRight(uint i, uint k) {
  const uint column = min(first_column + i % kFours * 4u, P_N - 4u), step = k + i / kFours;
  return step < P_K ? S4(b_data[(offsets.b + column + step * P_B_K) / 4u]) : S4(0.0);
}
uint RightPlace(uint i) { return i / kFours * kPitch + i % kFours; }
#else
S4 FetchRight(uint i, uint k) {
  const uint four = min(first_column / 4u + i / kSteps, (P_N - 1u) / 4u), step = k + i % kSteps;
  return step < P_K ? S4(b_data[four * P_K + step]) : S4(0.0);
}
uint RightPlace(uint i) { return i % kSteps * kPitch + i / kSteps; }
#endif

void Store(uint tile_row, uint tile_column, float sum) {
  const uint row = first_row + tile_row, column = first_column + tile_column;
  if (row >= P_M || column >= P_N) return;
  const uint at = offsets.y + row * P_Y_ROW + column * P_Y_N;
  const float value = Complete(at, gl_WorkGroupID.z, row, column, sum);
#if defined(LONG_ACTIVATIONS)
  y_data[at] = T(value);
#else
  y_data[at] = T(ActivateShort(kActivation, value, P_P0, P_P1));
#endif
}

#if defined(LONG_ACTIVATIONS)
void Finish(uint tile_row, uint tile_column) {
  const uint row = first_row + tile_row, column = first_column + tile_column;
  if (row >= P_M || column >= P_N) return;
  const uint at = offsets.y + row * P_Y_ROW + column * P_Y_N;
  y_data[at] = T(Activate(kActivation, float(y_data[at]), P_P0, P_P1));
}
#endif

void main() { MultiplyTile(); }
