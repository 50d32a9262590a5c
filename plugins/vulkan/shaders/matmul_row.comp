//! variant matmul_packed_row.f32 T_F32
//! variant matmul_packed_row.f16 T_F16
// A row times a packed matrix (PackSecondOperand), for devices with workgroup memory: a workgroup has four columns, and
// each invocation every 64th step of their sums, so that neighbours read what lies side by side.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "product.glsl"

layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 1) readonly buffer Left { T a_data[]; };
layout(std430, set = 0, binding = 2) readonly buffer Right { T4 b_data[]; };
shared vec4 parts[64];

void main() {
  const uint four = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  if (four >= (P_N + 3u) / 4u) return;
  const Offsets offsets = OffsetsOf(0u);
  const uint own = gl_LocalInvocationID.x;
  vec4 sum = vec4(0.0);
  for (uint k = own; k < P_K; k += 64u) sum += float(a_data[offsets.a + k]) * vec4(b_data[four * P_K + k]);
  parts[own] = sum;
  barrier();
  [[unroll]] for (uint reach = 32u; reach > 0u; reach /= 2u) {
    if (own < reach) parts[own] += parts[own + reach];
    barrier();
  }
  const uint column = four * 4u + own;
  if (own >= 4u || column >= P_N) return;
  const uint at = offsets.y + column * P_Y_N;
  const float value = Complete(at, 0u, 0u, column, parts[0][own]);
  y_data[at] = T(Activate(kActivation, value, P_P0, P_P1));
}
