//! variant cumulative.f32 T_F32
//! variant cumulative.f16 T_F16
//! variant cumulative.i32 T_I32
//! variant cumulative.i64 T_I64
//! variant cumulative.u32 T_U32
// Sums or products of all elements up to each one along an axis. An invocation walks one line.
// p: lines before the axis, its size, elements behind it.
#version 450
#include "common.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

layout(constant_id = 0) const uint kProduct = 0;
layout(constant_id = 1) const uint kExclusive = 0;
layout(constant_id = 2) const uint kReverse = 0;

void main() {
  const uint size = p[1];
  const uint inner = p[2];
  const uint line = Index();
  if (line >= p[0] * inner) return;
  const uint base = line / inner * size * inner + line % inner;
  C total = kProduct != 0 ? C(1) : C(0);
  for (uint i = 0; i < size; ++i) {
    const uint at = base + (kReverse != 0 ? size - 1 - i : i) * inner;
    const C value = C(x[at]);
    const C next = kProduct != 0 ? total * value : total + value;
    y[at] = T(kExclusive != 0 ? total : next);
    total = next;
  }
}
