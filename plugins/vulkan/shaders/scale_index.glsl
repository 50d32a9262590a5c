// How scales and zero points lie over a tensor (ops/quantized/quantization.h). p[] holds the number of elements, the
// elements of one index of the axis, the length of the axis, the indices that share a scale, and the scales of the
// axis.
layout(constant_id = 0) const uint kMode = 0u;  // 0: one for all, 1: one for each index of an axis, 2: one for a block
layout(constant_id = 1) const uint kHasZero = 0u;
#define P_COUNT p[0]
#define P_INNER p[1]
#define P_SIZE p[2]
#define P_BLOCK p[3]
#define P_BLOCKS p[4]

uint ParameterIndex(uint index) {
  if (kMode == 0u) return 0u;
  const uint position = index / P_INNER % P_SIZE;
  if (kMode == 1u) return position;
  return (index / (P_INNER * P_SIZE) * P_BLOCKS + position / P_BLOCK) * P_INNER + index % P_INNER;
}
