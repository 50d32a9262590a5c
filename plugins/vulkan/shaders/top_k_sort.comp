//! variant top_k_sort.f32 T_F32
//! variant top_k_sort.f16 T_F16
//! variant top_k_sort.i32 T_I32
//! variant top_k_sort.i64 T_I64
//! variant top_k_sort.i8 T_I8
//! variant top_k_sort.u8 T_U8
//! variant top_k_sort.u32 T_U32
// TopK of long lines: one step of a bitonic sort of the places of each line. A line has `width` places, a power of two;
// those beyond its elements come last. The first step writes all places in order, without a comparison. Then there is a
// step for each `block` of 2, 4, … width and each distance block / 2, …, 1. The last step writes the result.
// p: lines before the axis, its size, elements behind it, k, width, block, distance.
#version 450
#include "common.glsl"
#if defined(T_F32) || defined(T_F16)
#include "math.glsl"
#endif
#include "top_k.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) buffer Places { uint places[]; };  // [line][width]
layout(std430, set = 0, binding = 3) writeonly buffer Values { T values[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Indices { uvec2 indices[]; };  // int64

// Kind of the step. 0: begin; 1: compare and swap; 2: write.
layout(constant_id = 1) const uint kStep = 0;

// The words of p[], each read once, before main, as in product.glsl.
uint LINES_BEFORE = p[0];
uint SIZE = p[1];
uint INNER = p[2];
uint K = p[3];
uint WIDTH = p[4];
uint BLOCK = p[5];
uint DISTANCE = p[6];

uint BaseOf(uint line) { return line / INNER * SIZE * INNER + line % INNER; }

bool IsBefore(uint base, uint a, uint b) {
  if (a >= SIZE || b >= SIZE) return a < b;
  return Before(C(x[base + a * INNER]), a, C(x[base + b * INNER]), b);
}

void main() {
  const uint index = Index();
  const uint lines = LINES_BEFORE * INNER;
  if (kStep == 0) {
    if (index < lines * WIDTH) places[index] = index % WIDTH;
    return;
  }
  if (kStep == 2) {
    if (index >= lines * K) return;
    const uint line = index / K;
    const uint rank = index % K;
    const uint place = places[line * WIDTH + rank];
    const uint to = (line / INNER * K + rank) * INNER + line % INNER;
    values[to] = x[BaseOf(line) + place * INNER];
    indices[to] = uvec2(place, 0);
    return;
  }
  const uint pairs = WIDTH / 2;
  const uint line = index / pairs;
  if (line >= lines) return;
  const uint pair = index % pairs;
  const uint low = pair / DISTANCE * DISTANCE * 2 + pair % DISTANCE;
  const uint high = low + DISTANCE;
  const uint row = line * WIDTH;
  const uint a = places[row + low];
  const uint b = places[row + high];
  const bool ascending = (low & BLOCK) == 0;
  const bool in_order = IsBefore(BaseOf(line), a, b);
  if (in_order != ascending) {
    places[row + low] = b;
    places[row + high] = a;
  }
}
