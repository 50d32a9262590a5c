//! variant matmul_coop_rows.f16 T_F16 B_ROWS COOPERATIVE_MATRICES
//! variant matmul_coop_columns.f16 T_F16 B_COLUMNS COOPERATIVE_MATRICES
//! variant matmul_coop_packed.f16 T_F16 B_PACKED COOPERATIVE_MATRICES
//! each also _long LONG_ACTIVATIONS
// GEMM of float16 by cooperative matrices. Operands have the layouts of matmul.comp.
#version 450
#include "common.glsl"
#include "product.glsl"
#define COOP_CONSTANTS 2
#ifdef B_COLUMNS
#define RIGHT_BY_COLUMNS
#endif
#include "coop.glsl"

// The operands, four float16 an element, as they go to workgroup memory.
layout(std430, set = 0, binding = 1) readonly buffer Left { uvec2 a_data[]; };
layout(std430, set = 0, binding = 2) readonly buffer Right { uvec2 b_data[]; };

uint first_row = gl_WorkGroupID.y * kRows;
uint first_column = gl_WorkGroupID.x * kColumns;
Offsets offsets = OffsetsOf(gl_WorkGroupID.z);

uint Steps() { return P_K; }

uvec2 FetchLeft(uint i, uint k) {
  const uint row = min(first_row + i / kStepFours, P_M - 1u), step = k + i % kStepFours * 4u;
  return step < P_K ? a_data[(offsets.a + row * P_A_ROW + step) / 4u] : uvec2(0u);
}
uint LeftPlace(uint i) { return i / kStepFours * kStepPitch + i % kStepFours; }

// Neighbouring invocations read what lies side by side.
#if defined(B_COLUMNS)
uvec2 FetchRight(uint i, uint k) {
  const uint column = min(first_column + i / kStepFours, P_N - 1u), step = k + i % kStepFours * 4u;
  return step < P_K ? b_data[(offsets.b + column * P_B_N + step) / 4u] : uvec2(0u);
}
uint RightPlace(uint i) { return LeftPlace(i); }
#elif defined(B_ROWS)
uvec2 FetchRight(uint i, uint k) {
  const uint column = min(first_column + i % kColumnFours * 4u, P_N - 4u), step = k + i / kColumnFours;
  return step < P_K ? b_data[(offsets.b + column + step * P_B_K) / 4u] : uvec2(0u);
}
uint RightPlace(uint i) { return i / kColumnFours * kColumnPitch + i % kColumnFours; }
#else
uvec2 FetchRight(uint i, uint k) {
  const uint four = min(first_column / 4u + i / kSteps, (P_N - 1u) / 4u), step = k + i % kSteps;
  return step < P_K ? b_data[four * P_K + step] : uvec2(0u);
}
uint RightPlace(uint i) { return i % kSteps * kColumnPitch + i / kSteps; }
#endif

void Store(uint tile_row, uint tile_column, float sum) {
  const uint row = first_row + tile_row, column = first_column + tile_column;
  if (row >= P_M || column >= P_N) return;
  const uint at = offsets.y + row * P_Y_ROW + column * P_Y_N;
  const float value = Complete(at, gl_WorkGroupID.z, row, column, sum);
  y_data[at] = T(Activate(kActivation, value, P_P0, P_P1));
}

void main() { MultiplyTile(); }
