#version 450
//! variant strided_copy.b1 T_B1
//! variant strided_copy.b2 T_B2
//! variant strided_copy.b4 T_B4
//! variant strided_copy.b8 T_B8
//! variant strided_copy.b16 T_B16
// y[sum(i * to)] = x[sum(i * from)] for all indices i of a block (ops/move/strided_copy.h). An invocation copies up to
// four elements of the last axis. They are `columns` apart, so that neighbouring invocations copy neighbouring
// elements.
#include "common.glsl"
#include "divide.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

void main() {
  const uint invocations = p[0], from_begin = p[1], to_begin = p[2], last = p[3], from_step = p[4], to_step = p[5],
             columns = p[6], outer_axes = p[7];
  const uint index = Index();
  if (index >= invocations) return;
  uint rest = Quotient(index, p[8], p[9]);
  const uint column = index - rest * columns;
  uint from = from_begin + column * from_step;
  uint to = to_begin + column * to_step;
  for (uint axis = 0; axis < outer_axes; ++axis) {  // innermost first
    const uint words = 10 + 5 * axis;
    const uint above = Quotient(rest, p[words + 1], p[words + 2]);
    const uint at = rest - above * p[words];
    rest = above;
    from += at * p[words + 3];
    to += at * p[words + 4];
  }
  const uint from_far = columns * from_step, to_far = columns * to_step;
  y[to] = x[from];
  if (column + columns < last) y[to + to_far] = x[from + from_far];
  if (column + 2 * columns < last) y[to + 2 * to_far] = x[from + 2 * from_far];
  if (column + 3 * columns < last) y[to + 3 * to_far] = x[from + 3 * from_far];
}
