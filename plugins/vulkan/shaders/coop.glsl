// Shared by the GEMM kernels with cooperative matrices. A workgroup computes a tile of the product of a left and a
// right float16 matrix, with float sums. It loads 32 steps of both at a time into workgroup memory. Each of its four
// subgroups computes a quarter of the tile: kDown by kAcross matrices.
//
//     #define COOP_CONSTANTS 2    // the number of the shader's own specialization constants
//     #define RIGHT_BY_COLUMNS    // layout in workgroup memory; LEFT_BY_COLUMNS is for the left matrix
//     #include "coop.glsl"
//     uvec2 FetchLeft(uint i, uint k) { … }
//     …
//     void main() { MultiplyTile(); }
//
// CoopTiles in ops/coop_tiles.h chooses the tile, and writes the constants.
#ifndef COOP_GLSL
#define COOP_GLSL

#include "numbers.glsl"

#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require  // the build changes it to KHR's (spirv/khr_matrices.h)

layout(local_size_x_id = COOP_CONSTANTS) in;  // four full subgroups
// Matrices are kM by kK, kK by kN, and kM by kN. Each size must have a constant of its own, even if the values are
// equal: spirv/khr_matrices.h tells by the constants which matrix is a left operand, a right operand or a sum.
layout(constant_id = COOP_CONSTANTS + 1) const uint kM = 16u;
layout(constant_id = COOP_CONSTANTS + 2) const uint kN = 16u;
layout(constant_id = COOP_CONSTANTS + 3) const uint kK = 16u;
layout(constant_id = COOP_CONSTANTS + 4) const uint kDown = 2u;
layout(constant_id = COOP_CONSTANTS + 5) const uint kAcross = 2u;
layout(constant_id = COOP_CONSTANTS + 6) const uint kFetches = 4u;  // loads of each operand by an invocation per kSteps
#define LEFT_MATRIX fcoopmatNV<16, gl_ScopeSubgroup, kM, kK>
#define RIGHT_MATRIX fcoopmatNV<16, gl_ScopeSubgroup, kK, kN>
#define SUM_MATRIX fcoopmatNV<32, gl_ScopeSubgroup, kM, kN>

const uint kSteps = kCoopSteps;
const uint kSubgroupRows = kDown * kM;
const uint kSubgroupColumns = kAcross * kN;
const uint kRows = 2u * kSubgroupRows;  // rows of the tile
const uint kColumns = 2u * kSubgroupColumns;
// Sizes in vectors of four float16. A pitch is two more, so that successive rows lie in different memory banks.
const uint kStepFours = kSteps / 4u, kStepPitch = kStepFours + 2u;
const uint kRowFours = kRows / 4u, kRowPitch = kRowFours + 2u;
const uint kColumnFours = kColumns / 4u, kColumnPitch = kColumnFours + 2u;
#ifdef LEFT_BY_COLUMNS
shared uvec2 left_tile[kSteps * kRowPitch];
#else
shared uvec2 left_tile[kRows * kStepPitch];
#endif
#ifdef RIGHT_BY_COLUMNS
shared uvec2 right_tile[kColumns * kStepPitch];
#else
shared uvec2 right_tile[kSteps * kColumnPitch];
#endif
// One row of the matrices of each subgroup. They are stored here so that invocations can read single elements.
const uint kStaged = kM * kSubgroupColumns;
shared float staged[kCoopSubgroups * kStaged];

// --- Functions that the including shader defines

// Vector number i of an operand, of four float16, for the kSteps steps from k on, and its place in the tile. It is 0 if
// it begins beyond the last step. Elements beyond the last row or column may be anything.
uvec2 FetchLeft(uint i, uint k);
uvec2 FetchRight(uint i, uint k);
uint LeftPlace(uint i);
uint RightPlace(uint i);
uint Steps();
// Stores a sum of the tile, unless it is beyond the last row or column.
void Store(uint row, uint column, float sum);

// ---

void MultiplyTile() {
  const uint own_row = gl_SubgroupID / 2u * kSubgroupRows;
  const uint own_column = gl_SubgroupID % 2u * kSubgroupColumns;
  const uint steps = Steps();
  SUM_MATRIX sums[kDown * kAcross];
  [[unroll]] for (uint i = 0u; i < kDown * kAcross; ++i) sums[i] = SUM_MATRIX(0.0);
  // The operands of the next steps are loaded while these are multiplied.
  uvec2 next_left[kFetches], next_right[kFetches];
  [[unroll]] for (uint f = 0u; f < kFetches; ++f) {
    const uint i = f * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    next_left[f] = FetchLeft(i, 0u);
    next_right[f] = FetchRight(i, 0u);
  }
  for (uint k = 0u; k < steps; k += kSteps) {
    [[unroll]] for (uint f = 0u; f < kFetches; ++f) {
      const uint i = f * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
      left_tile[LeftPlace(i)] = next_left[f];
      right_tile[RightPlace(i)] = next_right[f];
    }
    barrier();
    [[unroll]] for (uint f = 0u; f < kFetches; ++f) {
      const uint i = f * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
      next_left[f] = FetchLeft(i, k + kSteps);
      next_right[f] = FetchRight(i, k + kSteps);
    }
    [[unroll]] for (uint step = 0u; step < kSteps; step += kK) {
      LEFT_MATRIX left[kDown];
      [[unroll]] for (uint i = 0u; i < kDown; ++i) {
#ifdef LEFT_BY_COLUMNS
        coopMatLoadNV(left[i], left_tile, step * kRowPitch + (own_row + i * kM) / 4u, kRowPitch, true);
#else
        coopMatLoadNV(left[i], left_tile, (own_row + i * kM) * kStepPitch + step / 4u, kStepPitch, false);
#endif
      }
      [[unroll]] for (uint j = 0u; j < kAcross; ++j) {
        RIGHT_MATRIX right;
#ifdef RIGHT_BY_COLUMNS
        coopMatLoadNV(right, right_tile, (own_column + j * kN) * kStepPitch + step / 4u, kStepPitch, true);
#else
        coopMatLoadNV(right, right_tile, step * kColumnPitch + (own_column + j * kN) / 4u, kColumnPitch, false);
#endif
        [[unroll]] for (uint i = 0u; i < kDown; ++i)
          sums[i * kAcross + j] = coopMatMulAddNV(left[i], right, sums[i * kAcross + j]);
      }
    }
    barrier();
  }

  // The loops over matrices are unrolled. If a loop variable chose among the sums, a driver would keep all of them in
  // memory, all the time.
  const uint mine = gl_SubgroupID * kStaged;
  [[unroll]] for (uint i = 0u; i < kDown; ++i) {
    [[unroll]] for (uint j = 0u; j < kAcross; ++j)
      coopMatStoreNV(sums[i * kAcross + j], staged, mine + j * kN, kSubgroupColumns, false);
    subgroupBarrier();
    for (uint at = gl_SubgroupInvocationID; at < kStaged; at += gl_SubgroupSize)
      Store(own_row + i * kM + at / kSubgroupColumns, own_column + at % kSubgroupColumns, staged[mine + at]);
    subgroupBarrier();
  }
}

#endif  // COOP_GLSL
