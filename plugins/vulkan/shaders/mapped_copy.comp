#version 450
//! variant mapped_copy.b1 T_B1
//! variant mapped_copy.b2 T_B2
//! variant mapped_copy.b4 T_B4
//! variant mapped_copy.b8 T_B8
// Copies to the row-major y the elements of x that a table for each axis names, or the fill value
// (ops/move/mapped_copy.h). An invocation writes up to four elements of the last axis, as in strided_copy.comp.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Fill { T fill[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { T y[]; };

const uint kNowhere = 0xffffffffu;

// Source position for position i of an axis. Its table begins at word `map`; 0 if it has none.
uint Place(uint map, uint i) { return map == 0 ? i : p[map + i]; }

void main() {
  const uint invocations = p[0], last = p[1], last_stride = p[2], last_map = p[3], columns = p[4], outer_axes = p[5];
  uint rest = Index();
  if (rest >= invocations) return;
  uint column = rest % columns;
  rest /= columns;
  const uint row = rest * last;
  uint from = 0;
  bool inside = true;
  for (uint axis = 0; axis < outer_axes; ++axis) {  // innermost first
    const uint dim = p[6 + 3 * axis];
    const uint at = Place(p[8 + 3 * axis], rest % dim);
    rest /= dim;
    inside = inside && at != kNowhere;
    from += at * p[7 + 3 * axis];
  }
  for (; column < last; column += columns) {
    const uint at = Place(last_map, column);
    if (inside && at != kNowhere)
      y[row + column] = x[from + at * last_stride];
    else
      y[row + column] = fill[0];
  }
}
