#version 450
//! variant tiled_transpose.b1 T_B1
//! variant tiled_transpose.b2 T_B2
//! variant tiled_transpose.b4 T_B4
//! variant tiled_transpose.b8 T_B8
// Transposes matrices through tiles in workgroup memory, so that neighbouring invocations read and write neighbouring
// elements (ops/move/strided_copy.h). One workgroup handles a tile.
#include "common.glsl"

const uint kTile = kTransposeTile;
const uint kRows = kTransposeRows;  // rows that a workgroup moves at once

layout(local_size_x = kTransposeTile, local_size_y = kTransposeRows) in;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };

shared M tile[kTile][kTile + 1];

void main() {
  const uint tiles = p[0], from_begin = p[1], to_begin = p[2];
  // Elements along `near` are contiguous in x, those along `far` in y.
  const uint near_dim = p[3], far_dim = p[4], near_to = p[5], far_from = p[6];
  const uint near_tiles = p[7], far_tiles = p[8], outer_axes = p[9];
  uint rest = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  if (rest >= tiles) return;
  const uint near = rest % near_tiles * kTile;
  rest /= near_tiles;
  const uint far = rest % far_tiles * kTile;
  rest /= far_tiles;
  uint from = from_begin, to = to_begin;
  for (uint axis = 0; axis < outer_axes; ++axis) {  // innermost first
    const uint at = rest % p[10 + 3 * axis];
    rest /= p[10 + 3 * axis];
    from += at * p[11 + 3 * axis];
    to += at * p[12 + 3 * axis];
  }
  const uint column = gl_LocalInvocationID.x;
  for (uint row = gl_LocalInvocationID.y; row < kTile; row += kRows)
    if (near + column < near_dim && far + row < far_dim)
      tile[row][column] = M(x[from + (far + row) * far_from + near + column]);
  barrier();
  for (uint row = gl_LocalInvocationID.y; row < kTile; row += kRows)
    if (far + column < far_dim && near + row < near_dim)
      y[to + (near + row) * near_to + far + column] = T(tile[column][row]);
}
