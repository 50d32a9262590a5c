// What the kernels of products of quads have in common: what becomes of a sum. The table has a row of four words for
// all (the zero point of y, the least and the greatest number that it may become) and one for each filter: what is
// added, the sum of its weights, their zero point, and the factor by which sums are scaled (kit/qdq/integer_product.hpp).
#ifdef REQUANTIZED
#include "quantization.glsl"
layout(std430, set = 0, binding = 5) writeonly buffer Bytes { uint8_t y[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Words { uint y_words[]; };

// The byte that a sum becomes.
uint Requantized(int sum, ivec4 row, ivec4 all) {
  precise const float scaled = float(sum) * intBitsToFloat(row.w);
  return uint(int(Quantised(scaled, float(all.x), float(all.y), float(all.z)))) & 255u;
}
#else
layout(std430, set = 0, binding = 5) writeonly buffer Result { int y[]; };
#endif
