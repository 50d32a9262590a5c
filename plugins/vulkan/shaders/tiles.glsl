// Shared by the GEMM kernels with tiles in workgroup memory. A workgroup computes a tile of the product of a left and a
// right matrix. It loads kSteps steps of both at a time into workgroup memory. Each invocation multiplies blocks of 4
// by 4, kBlocks of them down and across. The blocks lie 4 * kSide elements apart, so that neighbours read side by side.
// Small tiles are for matrices that would have few large ones. Slices of the workgroup then divide the steps of a tile,
// and their sums are added up in the end.
//
//     #define TILE_CONSTANTS 2   // the number of the shader's own specialization constants
//     #define LEFT_ALONG_STEPS   // FetchLeft gives four steps of a row, not four rows of a step; RIGHT_ALONG_STEPS …
//     #include "tiles.glsl"
//     S4 FetchLeft(uint i, uint k) { … }
//     …
//     void main() { MultiplyTile(); }
//
// WorkgroupTiles in ops/workgroup_tiles.h chooses the tile, and writes the constants. HALF: products are float16. The
// products of kSteps steps are added up in float16, and these sums in float.
#ifndef TILES_GLSL
#define TILES_GLSL

#include "numbers.glsl"

#extension GL_EXT_control_flow_attributes : require
#ifdef HALF
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define S4 f16vec4
#else
#define S4 vec4
#endif

layout(local_size_x = kTileInvocations) in;
layout(constant_id = TILE_CONSTANTS) const uint kBlocks = 1u;
layout(constant_id = TILE_CONSTANTS + 1) const uint kSide = 16u;  // invocations along a row, or a column, of the tile
layout(constant_id = TILE_CONSTANTS + 2) const uint kSteps = 16u;
const uint kInvocations = kSide * kSide;  // invocations of a slice
const uint kSlices = kTileInvocations / kInvocations;
const uint kFours = kBlocks * kSide;  // vec4s of a row and of a column of the tile
const uint kTile = 4u * kFours;
const uint kPitch = kFours + 1u;  // one more, so that successive steps lie in different memory banks
const uint kFetches = kBlocks * kSteps / kSide;  // loads of each operand by an invocation, for kSteps steps
shared S4 left_tile[kSlices * kSteps * kPitch];
shared S4 right_tile[kSlices * kSteps * kPitch];
// The sums that a slice hands to slice 0. There are one or four slices.
shared vec4 partial[kSlices / 4u * kBlocks * kBlocks * 4u * kInvocations + 1u];

// --- Functions that the including shader defines

// Vector number i of an operand, of four elements, for the kSteps steps from k on. It is 0 if it begins beyond the last
// step. Elements beyond the last row or column may be anything.
S4 FetchLeft(uint i, uint k);
S4 FetchRight(uint i, uint k);
#ifndef LEFT_ALONG_STEPS
uint LeftPlace(uint i);  // place of vector i in the tile: step * kPitch + its number in the step
#endif
#ifndef RIGHT_ALONG_STEPS
uint RightPlace(uint i);
#endif
uint Steps();
// Stores a sum of the tile, unless it is beyond the last row or column.
void Store(uint row, uint column, float sum);
#if defined(LONG_ACTIVATIONS)
// Applies a long activation to a stored sum. This is in a loop, so that the activation is in the code once.
void Finish(uint row, uint column);
#endif

// ---

// The row (or column) and the first step of vector i of an operand that is fetched along the steps.
uint LineOf(uint i) { return i / (kSteps / 4u); }
uint StepOf(uint i) { return i % (kSteps / 4u) * 4u; }

void MultiplyTile() {
  const uint slice = gl_LocalInvocationID.x / kInvocations, own = gl_LocalInvocationID.x % kInvocations;
  const uint down = own / kSide, across = own % kSide;
  const uint base = slice * kSteps * kPitch;
  vec4 sums[4u * kBlocks][kBlocks];
  [[unroll]] for (uint i = 0u; i < 4u * kBlocks; ++i)
    [[unroll]] for (uint j = 0u; j < kBlocks; ++j) sums[i][j] = vec4(0.0);
  // The operands of the next steps are loaded while these are multiplied.
  S4 next_left[kFetches], next_right[kFetches];
  [[unroll]] for (uint f = 0u; f < kFetches; ++f) {
    next_left[f] = FetchLeft(f * kInvocations + own, slice * kSteps);
    next_right[f] = FetchRight(f * kInvocations + own, slice * kSteps);
  }
  const uint steps = Steps();
  for (uint k = 0u; k < steps; k += kSlices * kSteps) {
    [[unroll]] for (uint f = 0u; f < kFetches; ++f) {
      const uint i = f * kInvocations + own;
#ifdef LEFT_ALONG_STEPS
      [[unroll]] for (uint j = 0u; j < 4u; ++j)
        left_tile[base + (StepOf(i) + j) * kPitch + LineOf(i) / 4u][LineOf(i) % 4u] = next_left[f][j];
#else
      left_tile[base + LeftPlace(i)] = next_left[f];
#endif
#ifdef RIGHT_ALONG_STEPS
      [[unroll]] for (uint j = 0u; j < 4u; ++j)
        right_tile[base + (StepOf(i) + j) * kPitch + LineOf(i) / 4u][LineOf(i) % 4u] = next_right[f][j];
#else
      right_tile[base + RightPlace(i)] = next_right[f];
#endif
    }
    barrier();
    [[unroll]] for (uint f = 0u; f < kFetches; ++f) {
      next_left[f] = FetchLeft(f * kInvocations + own, k + (kSlices + slice) * kSteps);
      next_right[f] = FetchRight(f * kInvocations + own, k + (kSlices + slice) * kSteps);
    }
#ifdef HALF
    S4 part[4u * kBlocks][kBlocks];
    [[unroll]] for (uint i = 0u; i < 4u * kBlocks; ++i)
      [[unroll]] for (uint j = 0u; j < kBlocks; ++j) part[i][j] = S4(0.0);
#else
#define part sums
#endif
    [[unroll]] for (uint step = 0u; step < kSteps; ++step) {
      S4 left[kBlocks], right[kBlocks];
      [[unroll]] for (uint b = 0u; b < kBlocks; ++b) {
        left[b] = left_tile[base + step * kPitch + b * kSide + down];
        right[b] = right_tile[base + step * kPitch + b * kSide + across];
      }
      [[unroll]] for (uint i = 0u; i < 4u * kBlocks; ++i)
        [[unroll]] for (uint j = 0u; j < kBlocks; ++j) part[i][j] += left[i / 4u][i % 4u] * right[j];
    }
#ifdef HALF
    [[unroll]] for (uint i = 0u; i < 4u * kBlocks; ++i)
      [[unroll]] for (uint j = 0u; j < kBlocks; ++j) sums[i][j] += vec4(part[i][j]);
#endif
    barrier();
  }

  if (kSlices > 1u) {
    for (uint from = kSlices - 1u; from > 0u; --from) {
      if (slice == from)
        [[unroll]] for (uint i = 0u; i < 4u * kBlocks; ++i)
          [[unroll]] for (uint j = 0u; j < kBlocks; ++j)
            partial[(i * kBlocks + j) * kInvocations + own] = sums[i][j];
      barrier();
      if (slice == 0u)
        [[unroll]] for (uint i = 0u; i < 4u * kBlocks; ++i)
          [[unroll]] for (uint j = 0u; j < kBlocks; ++j)
            sums[i][j] += partial[(i * kBlocks + j) * kInvocations + own];
      barrier();
    }
    if (slice != 0u) return;
  }
  [[unroll]] for (uint i = 0u; i < 4u * kBlocks; ++i)
    [[unroll]] for (uint j = 0u; j < 4u * kBlocks; ++j)
      Store((i / 4u * kSide + down) * 4u + i % 4u, (j / 4u * kSide + across) * 4u + j % 4u, sums[i][j / 4u][j % 4u]);
#if defined(LONG_ACTIVATIONS)
  for (uint i = 0u; i < 4u * kBlocks; ++i)
    for (uint j = 0u; j < 4u * kBlocks; ++j)
      Finish((i / 4u * kSide + down) * 4u + i % 4u, (j / 4u * kSide + across) * 4u + j % 4u);
#endif
}

#endif  // TILES_GLSL
