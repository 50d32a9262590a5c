//! variant attention_append.b2 T_B2
//! variant attention_append.b4 T_B4
// Concatenates past keys or values [batch, heads, past, width] and new ones, which are a view with any strides. A batch
// stride of 0 broadcasts.
#version 450
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer Past { T past[]; };
layout(std430, set = 0, binding = 2) readonly buffer Fresh { T fresh[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Present { T present[]; };

#define P_COUNT p[0]
#define P_PAST p[1]
#define P_TOTAL p[2]
#define P_WIDTH p[3]
#define P_HEADS p[4]
#define P_BATCH_STRIDE p[5]
#define P_HEAD_STRIDE p[6]
#define P_POSITION_STRIDE p[7]
#define P_WIDTH_STRIDE p[8]

void main() {
  const uint index = Index();
  if (index >= P_COUNT) return;
  const uint column = index % P_WIDTH;
  const uint position = index / P_WIDTH % P_TOTAL;
  const uint matrix = index / (P_WIDTH * P_TOTAL);
  if (position < P_PAST) {
    present[index] = past[(matrix * P_PAST + position) * P_WIDTH + column];
  } else {
    present[index] = fresh[matrix / P_HEADS * P_BATCH_STRIDE + matrix % P_HEADS * P_HEAD_STRIDE +
                           (position - P_PAST) * P_POSITION_STRIDE + column * P_WIDTH_STRIDE];
  }
}
