// Shared by the kernels for products of quads: the operations on a sum. The first row of the table has the zero point
// of y and the least and greatest number that y may become. Each filter has a row of four words: bias, sum of its
// weights, zero point of its weights, and the factor that scales sums (kit/qdq/integer_product.hpp).
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
