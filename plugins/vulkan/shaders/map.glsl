// Shared by shaders that compute each element of their result from one element of each operand, with broadcasting. An
// invocation computes kWidth neighbours. Define INPUTS, the number of operands, and PARAMETERS, the number of words
// that the operation itself takes, before including it.
//
//     p[0]                     invocations
//     p[1]                     axes; 0: each operand lies as the result does, or is one element (splat)
//     p[2 … 2 + PARAMETERS)    the operation's own
//     then for each axis, innermost first: its size in invocations, the multiplier and shift that divide by the size
//     (divide.glsl), and the stride of each operand, in units of kWidth elements, or in elements if it is splat
//
// ops/math/map.h writes them.
#extension GL_EXT_control_flow_attributes : enable
#include "divide.glsl"

layout(local_size_x = kLinearGroup) in;
layout(constant_id = 0) const uint kWidth = 1u;  // 1 or 4
layout(constant_id = 1) const bool kFlat = false;  // p[1] is 0
layout(constant_id = 2) const uint kSplat = 0u;    // bit k: all elements of an invocation use one element of operand k

bool IsSplat(uint k) { return (kSplat >> k & 1u) != 0u; }

// Sets the offset of the first element of each operand for invocation i.
void Locate(uint i, out uint at[INPUTS]) {
  if (kFlat) {
    [[unroll]] for (uint k = 0u; k < INPUTS; ++k) at[k] = IsSplat(k) ? 0u : i;
    return;
  }
  [[unroll]] for (uint k = 0u; k < INPUTS; ++k) at[k] = 0u;
  uint row = 2u + PARAMETERS;
  uint rest = i;
  const uint axes = p[1];  // read outside of the loop's condition, where GPU-assisted validation can't instrument reads
  for (uint axis = 1u; axis < axes; ++axis) {
    const uint quotient = Quotient(rest, p[row + 1u], p[row + 2u]);
    const uint index = rest - quotient * p[row];
    [[unroll]] for (uint k = 0u; k < INPUTS; ++k) at[k] += index * p[row + 3u + k];
    rest = quotient;
    row += 3u + INPUTS;
  }
  [[unroll]] for (uint k = 0u; k < INPUTS; ++k) at[k] += rest * p[row + 3u + k];
}

// Vectors of four elements: T4 in buffers, C4 for arithmetic. Elements of 64 bits are computed one by one.
#if defined(T_F32)
#define T4 vec4
#define C4 vec4
#elif defined(T_F16)
#define T4 f16vec4
#define C4 vec4
#elif defined(T_I32)
#define T4 ivec4
#define C4 ivec4
#elif defined(T_U32) || defined(T_B4)
#define T4 uvec4
#define C4 uvec4
#elif defined(T_U8) || defined(T_BOOL) || defined(T_B1)
#define T4 u8vec4
#define C4 uvec4
#elif defined(T_I8)
#define T4 i8vec4
#define C4 ivec4
#elif defined(T_B2)
#define T4 u16vec4
#define C4 uvec4
#endif
