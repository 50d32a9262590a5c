//! variant arg_reduce.f32 T_F32
//! variant arg_reduce.f16 T_F16
//! variant arg_reduce.i32 T_I32
//! variant arg_reduce.i64 T_I64
//! variant arg_reduce.i8 T_I8
//! variant arg_reduce.u8 T_U8
//! variant arg_reduce.u32 T_U32
// ArgMin and ArgMax: the index of the extreme element along an axis. An invocation reads the elements s, s + PARTS, …
// of one line. With several parts, a second dispatch chooses among their results. As in numpy, the first NaN wins. p:
// lines before the axis, its size, elements behind it, parts of a line.
#version 450
#include "common.glsl"
#if defined(T_F32) || defined(T_F16)
#define FLOATS
#include "math.glsl"
#endif
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Places { uint places[]; };  // input of the second dispatch
layout(std430, set = 0, binding = 3) writeonly buffer Y { uvec2 y[]; };           // int64, of which the upper word is 0
layout(std430, set = 0, binding = 4) writeonly buffer Found { uint found[]; };    // result of kPass 1

layout(constant_id = 0) const uint kLargest = 1;
layout(constant_id = 1) const uint kLast = 0;
// 0: the only dispatch; 1: the first of two; 2: the second.
layout(constant_id = 2) const uint kPass = 0;

// Whether the element at place at_b replaces the best one so far, at place at_a.
bool Replaces(C a, uint at_a, C b, uint at_b) {
  const bool wins_ties = kLast != 0 ? at_b > at_a : at_b < at_a;
#if defined(FLOATS)
  if (IsNan(a)) return IsNan(b) && wins_ties;
  if (IsNan(b)) return true;
#endif
  if (a == b) return wins_ties;
  return kLargest != 0 ? b > a : b < a;
}

void main() {
  const uint size = p[1];
  const uint inner = p[2];
  const uint parts = p[3];
  const uint index = Index();
  const uint line = kPass == 1 ? index / parts : index;
  if (line >= p[0] * inner) return;
  const uint base = line / inner * size * inner + line % inner;

  const uint first = kPass == 1 ? index % parts : 0;
  const uint step = kPass == 1 ? parts : 1;
  const uint count = kPass == 2 ? parts : size;
  uint best = kPass == 2 ? places[line * parts] : first;
  C value = C(x[base + best * inner]);
  for (uint i = first + step; i < count; i += step) {
    const uint at = kPass == 2 ? places[line * parts + i] : i;
    const C candidate = C(x[base + at * inner]);
    if (Replaces(value, best, candidate, at)) {
      best = at;
      value = candidate;
    }
  }
  if (kPass == 1) {
    found[index] = best;
  } else {
    y[line] = uvec2(best, 0);
  }
}
