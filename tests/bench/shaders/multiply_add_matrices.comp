//! variant multiply_add_matrices.f16 T_F32 COOPERATIVE_MATRICES
// Multiply-adds of cooperative matrices on registers only, accumulated in float. Each subgroup does p[0] steps of 16
// products and writes one of its matrices to y.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
layout(local_size_x_id = 0) in;  // full subgroups
layout(constant_id = 1) const uint kM = 16u;
layout(constant_id = 2) const uint kN = 16u;
layout(constant_id = 3) const uint kK = 16u;
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

#define LEFT_MATRIX fcoopmatNV<16, gl_ScopeSubgroup, kM, kK>
#define RIGHT_MATRIX fcoopmatNV<16, gl_ScopeSubgroup, kK, kN>
#define SUM_MATRIX fcoopmatNV<32, gl_ScopeSubgroup, kM, kN>

void main() {
  // The factor depends on the workgroup, so that no compiler can fold the result.
  const float16_t factor = float16_t(float(gl_WorkGroupID.x % 7u) * 0.03125);
  LEFT_MATRIX left[4];
  RIGHT_MATRIX right[4];
  SUM_MATRIX sums[16];
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    left[i] = LEFT_MATRIX(factor + float16_t(i));
    right[i] = RIGHT_MATRIX(factor - float16_t(i));
  }
  [[unroll]] for (uint i = 0u; i < 16u; ++i) sums[i] = SUM_MATRIX(0.0);
  for (uint step = 0u; step < p[0]; ++step)
    [[unroll]] for (uint i = 0u; i < 16u; ++i) sums[i] = coopMatMulAddNV(left[i / 4u], right[i % 4u], sums[i]);
  SUM_MATRIX sum = sums[0];
  [[unroll]] for (uint i = 1u; i < 16u; ++i) sum = sum + sums[i];
  coopMatStoreNV(sum, y, (gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID) * kM * kN, kN, false);
}
