// Shared by GEMM kernels: parameters, offsets of elements, and the operations on a sum.
//
// y = activation(alpha * sum + beta * c + residual) for `batches` products of [m, k] by [k, n]. An element of an
// operand lies at the offset of its matrix plus index times stride. The offset is batch times a stride. With
// kProductTable it is a word of p[] instead, where each batch has three: the offsets of a, b and y. The residual has
// the layout of y.
#include "activation.glsl"

#if defined(T_F16)
#define T4 f16vec4
#else
#define T4 vec4
#endif

layout(constant_id = 0) const uint kFlags = 0u;
layout(constant_id = 1) const uint kActivation = ACTIVATION_NONE;

// The words of p[], each read once, before main. Unrolled code uses them often, and a load for each use costs much
// where each load is checked. They are not in an array, because Mesa 22.3's llvmpipe then computes wrong sums of
// matmul_columns.
uint P_M = p[0];
uint P_N = p[1];
uint P_K = p[2];
uint P_BATCHES = p[3];
uint P_A_ROW = p[4];
uint P_A_K = p[5];
uint P_B_K = p[6];
uint P_B_N = p[7];
uint P_Y_ROW = p[8];
uint P_Y_N = p[9];
uint P_C_ROW = p[10];
uint P_C_N = p[11];
uint P_C_BATCH = p[12];
uint P_A_BATCH = p[13];
uint P_B_BATCH = p[14];
uint P_Y_BATCH = p[15];
float P_ALPHA = uintBitsToFloat(p[16]);
float P_BETA = uintBitsToFloat(p[17]);
float P_P0 = uintBitsToFloat(p[18]);
float P_P1 = uintBitsToFloat(p[19]);
#define P_TABLE 20u

layout(std430, set = 0, binding = 3) readonly buffer Addend { T c_data[]; };
layout(std430, set = 0, binding = 4) readonly buffer Residual { T r_data[]; };
#ifdef RESULT_IS_READ
layout(std430, set = 0, binding = 5) buffer Result { T y_data[]; };
#else
layout(std430, set = 0, binding = 5) writeonly buffer Result { T y_data[]; };
#endif

struct Offsets {
  uint a, b, y;
};
Offsets OffsetsOf(uint batch) {
  if ((kFlags & kProductTable) != 0u) {
    const uint at = P_TABLE + batch * 3u;
    return Offsets(p[at], p[at + 1u], p[at + 2u]);
  }
  return Offsets(batch * P_A_BATCH, batch * P_B_BATCH, batch * P_Y_BATCH);
}

// Applies alpha, beta * c and the residual to the sum of an element. Row and column must be within the result.
float Complete(uint at, uint batch, uint row, uint column, float sum) {
  float value = P_ALPHA * sum;
  if ((kFlags & kProductC) != 0u)
    value += P_BETA * float(c_data[batch * P_C_BATCH + row * P_C_ROW + column * P_C_N]);
  if ((kFlags & kProductResidual) != 0u) value += float(r_data[at]);
  return value;
}
