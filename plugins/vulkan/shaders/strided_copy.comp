#version 450
//! variant strided_copy.b1 T_B1
//! variant strided_copy.b2 T_B2
//! variant strided_copy.b4 T_B4
//! variant strided_copy.b8 T_B8
//! variant strided_copy.b16 T_B16
// y[sum(i * to)] = x[sum(i * from)] for all i of a block: ops/move/strided_copy.h. An invocation copies up to four
// elements of the last axis, `columns` apart, so that neighbours are copied by neighbours.
#include "common.glsl"

layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

void main() {
  const uint invocations = p[0], from_begin = p[1], to_begin = p[2], last = p[3], from_step = p[4], to_step = p[5],
             columns = p[6], outer_axes = p[7];
  uint rest = Index();
  if (rest >= invocations) return;
  uint column = rest % columns;
  rest /= columns;
  uint from = from_begin + column * from_step;
  uint to = to_begin + column * to_step;
  for (uint axis = 0; axis < outer_axes; ++axis) {  // innermost first
    const uint dim = p[8 + 3 * axis];
    const uint at = rest % dim;
    rest /= dim;
    from += at * p[9 + 3 * axis];
    to += at * p[10 + 3 * axis];
  }
  for (; column < last; column += columns) {
    y[to] = x[from];
    from += columns * from_step;
    to += columns * to_step;
  }
}
