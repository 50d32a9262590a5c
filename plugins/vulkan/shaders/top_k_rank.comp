//! variant top_k_rank.f32 T_F32
//! variant top_k_rank.f16 T_F16
//! variant top_k_rank.i32 T_I32
//! variant top_k_rank.i64 T_I64
//! variant top_k_rank.i8 T_I8
//! variant top_k_rank.u8 T_U8
//! variant top_k_rank.u32 T_U32
// TopK of short lines. An invocation counts the elements that come before one; the count is its place in the result.
// p: lines before the axis, its size, elements behind it, k.
#version 450
#include "common.glsl"
#if defined(T_F32) || defined(T_F16)
#include "math.glsl"
#endif
#include "top_k.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Values { T values[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Indices { uvec2 indices[]; };  // int64

void main() {
  const uint size = p[1];
  const uint inner = p[2];
  const uint k = p[3];
  const uint index = Index();
  if (index >= p[0] * size * inner) return;
  const uint place = index / inner % size;
  const uint base = index - place * inner;
  const C value = C(x[index]);
  uint rank = 0;
  for (uint i = 0; i < size; ++i)
    if (Before(C(x[base + i * inner]), i, value, place)) ++rank;
  if (rank >= k) return;
  const uint to = (index / (inner * size) * k + rank) * inner + index % inner;
  values[to] = x[index];
  indices[to] = uvec2(place, 0);
}
