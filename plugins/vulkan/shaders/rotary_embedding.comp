//! variant rotary_embedding.f32 T_F32
//! variant rotary_embedding.f16 T_F16
// Rotates pairs of elements of each head's vector by the angle of the token's position. Positions are int64 indices
// into the caches. For an index out of range, sine and cosine are 0.
#version 450
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(constant_id = 0) const uint kFlags = 0u;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Cosines { T cosines[]; };
layout(std430, set = 0, binding = 3) readonly buffer Sines { T sines[]; };
layout(std430, set = 0, binding = 4) readonly buffer Ix { uint ix[]; };  // positions
layout(std430, set = 0, binding = 5) writeonly buffer Y { T y[]; };

#include "index.glsl"

#define P_COUNT p[0]
#define P_SIZE p[1]     // size of a head
#define P_ROTATED p[2]  // rotated elements of a head
#define P_HEADS p[3]
#define P_LENGTH p[4]
#define P_ROWS p[5]     // rows of the caches

void main() {
  const uint index = Index();
  if (index >= P_COUNT) return;
  const uint element = index % P_SIZE;
  if (element >= P_ROTATED) {
    y[index] = x[index];
    return;
  }
  const uint vector = index / P_SIZE;
  uint token;
  if ((kFlags & kRotaryHeadsFirst) != 0u) {
    token = vector / (P_LENGTH * P_HEADS) * P_LENGTH + vector % P_LENGTH;
  } else {
    token = vector / P_HEADS;
  }
  const uint row = (kFlags & kRotaryPositions) != 0u ? ReadIndex(token, 2u, P_ROWS) : token;

  const uint half_size = P_ROTATED / 2u;
  const bool interleaved = (kFlags & kRotaryInterleaved) != 0u;
  const uint pair = interleaved ? element / 2u : element % half_size;
  const bool second = interleaved ? element % 2u == 1u : element >= half_size;
  const uint first_at = vector * P_SIZE + (interleaved ? pair * 2u : pair);
  const float a = float(x[first_at]);
  const float b = float(x[first_at + (interleaved ? 1u : half_size)]);
  const bool inside = row != kNowhere;
  const float c = inside ? float(cosines[row * half_size + pair]) : 0.0;
  const float s = inside ? float(sines[row * half_size + pair]) : 0.0;
  y[index] = T(second ? s * a + c * b : c * a - s * b);
}
