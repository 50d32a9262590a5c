#version 450
//! variant trilu.b1 T_B1
//! variant trilu.b2 T_B2
//! variant trilu.b4 T_B4
//! variant trilu.b8 T_B8
// Copies matrices with zeros below the diagonal, or above it.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

void main() {
  const uint count = p[0], rows = p[1], columns = p[2], upper = p[4];
  const uint i = Index();
  if (i >= count) return;
  const int beyond = int(i % columns) - int(i / columns % rows) - int(p[3]);  // above 0: right of the diagonal
  const bool keep = upper != 0 ? beyond >= 0 : beyond <= 0;
  y[i] = T(keep ? M(x[i]) : M(0));
}
