// Where: selects elements of 1, 2, 4 or 8 bytes from one tensor or the other.
//! variant where.b1 T_B1 INPUTS=3
//! variant where.b2 T_B2 INPUTS=3 USES_8
//! variant where.b4 T_B4 INPUTS=3 USES_8
//! variant where.b8 T_B8 INPUTS=3 USES_8
#version 450
#include "common.glsl"

#define PARAMETERS 0u
#include "map.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Conditions { uint8_t condition[]; };
layout(std430, set = 0, binding = 2) readonly buffer Chosen { T chosen[]; };
layout(std430, set = 0, binding = 3) readonly buffer Others { T others[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Result { T y[]; };
#ifdef T4
layout(std430, set = 0, binding = 1) readonly buffer ConditionFours { u8vec4 condition_four[]; };
layout(std430, set = 0, binding = 2) readonly buffer ChosenFours { T4 chosen_four[]; };
layout(std430, set = 0, binding = 3) readonly buffer OtherFours { T4 others_four[]; };
layout(std430, set = 0, binding = 4) writeonly buffer ResultFours { T4 y_four[]; };
#endif

void main() {
  const uint i = Index();
  if (i >= p[0]) return;
  uint at[3];
  Locate(i, at);
#ifdef T4
  if (kWidth == 4u) {
    const uvec4 use = IsSplat(0u) ? uvec4(condition[at[0]]) : uvec4(condition_four[at[0]]);
    const C4 a = IsSplat(1u) ? C4(chosen[at[1]]) : C4(chosen_four[at[1]]);
    const C4 b = IsSplat(2u) ? C4(others[at[2]]) : C4(others_four[at[2]]);
    y_four[i] = T4(mix(b, a, notEqual(use, uvec4(0u))));
    return;
  }
#endif
  if (uint(condition[at[0]]) != 0u) {
    y[i] = chosen[at[1]];
  } else {
    y[i] = others[at[2]];
  }
}
