//! variant einsum_arrange.f32 T_F32
//! variant einsum_arrange.f16 T_F16
// Writes elements of a tensor in another order, each summed over some axes. Strides may be those of a diagonal, or 0.
// p[]: number of results, their rank, rank of the sums, addends of each sum; then size and stride of each axis of the
// results, and of each axis of the sums.
#version 450
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };
// The words of p[], each read once, before main, as in product.glsl.
uint P_COUNT = p[0];
uint P_RANK = p[1];
uint P_SUM_RANK = p[2];
uint P_SUM_COUNT = p[3];
#define P_AXES 4u

// Offset of the element with a row-major index over the axes from `first` on.
uint OffsetOf(uint index, uint first, uint rank) {
  uint offset = 0u;
  for (uint d = rank; d > 0u; --d) {
    const uint axis = first + (d - 1u) * 2u;
    offset += index % p[axis] * p[axis + 1u];
    index /= p[axis];
  }
  return offset;
}

void main() {
  const uint index = Index();
  if (index >= P_COUNT) return;
  const uint base = OffsetOf(index, P_AXES, P_RANK);
  if (P_SUM_RANK == 0u) {
    y[index] = x[base];
    return;
  }
  float sum = 0.0;
  for (uint i = 0u; i < P_SUM_COUNT; ++i) sum += float(x[base + OffsetOf(i, P_AXES + P_RANK * 2u, P_SUM_RANK)]);
  y[index] = T(sum);
}
