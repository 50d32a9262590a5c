#version 450
//! variant scatter.b1 T_B1
//! variant scatter.b2 T_B2
//! variant scatter.b4 T_B4
//! variant scatter.b8 T_B8
//! variant scatter.f32 T_F32
//! variant scatter.f16 T_F16
//! variant scatter.i32 T_I32
//! variant scatter.i64 T_I64
//! variant scatter.i8 T_I8
//! variant scatter.u8 T_U8
//! variant scatter.u32 T_U32
// Writes updates to y, or combines y with them, in the order of the updates and without atomics. An invocation owns a
// line of elements of y, or a part of one, and walks over all updates for that line.
//
// A tuple of `depth` indices names a place in a line. The variants b1 to b8 only replace elements.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(constant_id = 0) const uint kReduction = 0;  // none, add, mul, max, min
layout(std430, set = 0, binding = 1) readonly buffer Ix { uint ix[]; };
layout(std430, set = 0, binding = 2) readonly buffer Updates { T updates[]; };
layout(std430, set = 0, binding = 3) buffer Y { T y[]; };
#include "index.glsl"

#if defined(C)
// NaN wins over everything, as on the host.
C Combine(C a, C b) {
  if (kReduction == 1) return a + b;
  if (kReduction == 2) return a * b;
  if (kReduction == 3) return b > a || b != b ? b : a;
  if (kReduction == 4) return b < a || b != b ? b : a;
  return b;
}
#endif

void main() {
  const uint invocations = p[0], parts = p[1], part_size = p[2], count = p[3], depth = p[4], words = p[5],
             index_step = p[6], update_step = p[7], place_step = p[8], axes = p[9];
  uint line = Index();
  if (line >= invocations) return;
  const uint begin = line % parts * part_size, end = begin + part_size;
  line /= parts;
  uint to = 0, from = 0, index = 0;
  const uint lines = 10 + depth;
  for (uint axis = 0; axis < axes; ++axis) {  // innermost first
    const uint dim = p[lines + 4 * axis];
    const uint at = line % dim;
    line /= dim;
    to += at * p[lines + 4 * axis + 1];
    from += at * p[lines + 4 * axis + 2];
    index += at * p[lines + 4 * axis + 3];
  }
  for (uint i = 0; i < count; ++i, index += index_step, from += update_step) {
    uint place = 0;
    bool inside = true;
    for (uint k = 0; k < depth; ++k) {
      const uint at = ReadIndex(index + k, words, p[10 + k]);
      inside = inside && at != kNowhere;
      place = place * p[10 + k] + at;
    }
    if (!inside || place < begin || place >= end) continue;
    const uint target = to + place * place_step;
#if defined(C)
    y[target] = T(Combine(C(y[target]), C(updates[from])));
#else
    y[target] = updates[from];
#endif
  }
}
