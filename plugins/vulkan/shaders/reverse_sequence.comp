#version 450
//! variant reverse_sequence.b1 T_B1
//! variant reverse_sequence.b2 T_B2
//! variant reverse_sequence.b4 T_B4
//! variant reverse_sequence.b8 T_B8
// Reverses the first lengths[b] steps of each sequence b. A length beyond the sequence counts as its whole length.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Lengths { uvec2 lengths[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { T y[]; };

void main() {
  const uint count = p[0], run = p[1], batches = p[2], steps = p[3], batch_first = p[4];
  const uint i = Index();
  if (i >= count) return;
  const uint item = i / run;
  const uint b = batch_first != 0 ? item / steps : item % batches;
  const uint t = batch_first != 0 ? item % steps : item / batches;
  const uvec2 given = lengths[b];
  const uint size = int(given.y) < 0 ? 0 : given.y != 0 ? steps : min(given.x, steps);
  const uint other = t < size ? size - 1 - t : t;
  y[i] = x[(batch_first != 0 ? b * steps + other : other * batches + b) * run + i % run];
}
