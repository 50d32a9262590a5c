#version 450
//! variant gather.b1 T_B1
//! variant gather.b2 T_B2
//! variant gather.b4 T_B4
//! variant gather.b8 T_B8
//! variant gather.b16 T_B16
// Gathers y [outer, tuples, run] from x [outer, size, run]: a tuple of indices names a run of x. Gather has tuples of
// one index, GatherND of several. With `batched` the indices are [outer, tuples, depth]; else they are [tuples, depth],
// the same for each outer index.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Ix { uint ix[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { T y[]; };
#include "index.glsl"

void main() {
  const uint invocations = p[0], run = p[1], columns = p[2], tuples = p[3], size = p[4], batched = p[5], words = p[6],
             depth = p[7];
  uint rest = Index();
  if (rest >= invocations) return;
  uint column = rest % columns;
  rest /= columns;
  const uint to = rest * run;
  const uint block = rest / tuples;
  uint index = (batched != 0 ? rest : rest % tuples) * depth;
  uint place = 0;
  bool inside = true;
  for (uint k = 0; k < depth; ++k, ++index) {
    const uint at = ReadIndex(index, words, p[8 + k]);
    inside = inside && at != kNowhere;
    place = place * p[8 + k] + at;
  }
  const uint from = (block * size + place) * run;
  for (; column < run; column += columns) y[to + column] = T(inside ? M(x[from + column]) : M(0));
}
