//! variant conv_coop.f16 T_F16 COOPERATIVE_MATRICES
//! each also _long LONG_ACTIVATIONS
// Convolutions of float16 as GEMMs by cooperative matrices. The filters of a group are the rows of the left matrix. The
// columns of the right matrix are the elements that each position of an image reads, which are gathered on the way to
// workgroup memory. Weights have the layout of conv.comp. Workgroups are tiles of positions, tiles of filters, and
// groups of images.
#version 450
#include "common.glsl"
#include "conv.glsl"
#define COOP_CONSTANTS 3
#define LEFT_BY_COLUMNS
#include "coop.glsl"

layout(std430, set = 0, binding = 1) readonly buffer X { float16_t x[]; };
layout(std430, set = 0, binding = 2) readonly buffer W { uvec2 w[]; };  // four float16 each
layout(std430, set = 0, binding = 3) readonly buffer B { T b[]; };
layout(std430, set = 0, binding = 4) readonly buffer R { T residual[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Y { T y[]; };

uint first_filter = gl_WorkGroupID.y * kRows;
uint first_position = gl_WorkGroupID.x * kColumns;
uint group = gl_WorkGroupID.z % GROUPS;
uint image = gl_WorkGroupID.z / GROUPS;
uint depth = KERNEL(0) * KERNEL(1) * KERNEL(2) * CHANNELS;

uint Steps() { return depth; }

uvec2 FetchLeft(uint i, uint k) {
  const uint block = min(first_filter / 8u + i / (2u * kSteps), FILTER_BLOCKS - 1u), step = k + i / 2u % kSteps;
  return step < depth ? w[((group * FILTER_BLOCKS + block) * depth + step) * 2u + i % 2u] : uvec2(0u);
}
uint LeftPlace(uint i) { return i / 2u % kSteps * kRowPitch + i / (2u * kSteps) * 2u + i % 2u; }

// An invocation loads elements of the same four positions each time: the workgroup's size is a multiple of
// kColumnFours.
uint StartOf(uint four) {
  const uint position = first_position + gl_LocalInvocationID.x % kColumnFours * 4u + four;
  return image * IMAGE + group * CHANNELS * PLANE + Start(PlaceOf(min(position, POSITIONS - 1u)));
}
uvec4 starts = uvec4(StartOf(0u), StartOf(1u), StartOf(2u), StartOf(3u));

uvec2 FetchRight(uint i, uint k) {
  const uint step = k + i / kColumnFours;
  if (step >= depth) return uvec2(0u);
  const uint tap = step / CHANNELS, row = tap / KERNEL(2);
  const uvec4 at = starts + (step % CHANNELS * PLANE + row / KERNEL(1) * TAP(0) + row % KERNEL(1) * TAP(1) +
                             tap % KERNEL(2) * TAP(2));
  return uvec2(packFloat2x16(f16vec2(x[at.x], x[at.y])), packFloat2x16(f16vec2(x[at.z], x[at.w])));
}
uint RightPlace(uint i) { return i / kColumnFours * kColumnPitch + i % kColumnFours; }

void Store(uint row, uint column, float sum) {
  if (first_filter + row >= FILTERS || first_position + column >= POSITIONS) return;
  const uint filter_index = group * FILTERS + first_filter + row;
  const uint at = (image * GROUPS * FILTERS + filter_index) * POSITIONS + first_position + column;
  if (kHasBias != 0u) sum += float(b[filter_index]);
  if (kHasResidual != 0u) sum += float(residual[at]);
  y[at] = T(Activate(kActivation, sum, ALPHA, BETA));
}

void main() { MultiplyTile(); }
