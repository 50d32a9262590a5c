//! variant matmul_integer.i32 USES_8
//! variant matmul_integer_requantized USES_8 REQUANTIZED
// GEMM of 8-bit matrices with zero points. Results are int32 sums, which wrap, or are quantised again. An invocation
// computes a block of 4 x 4.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
#include "quantization.glsl"
layout(constant_id = 0) const uint kFlags = 0u;
layout(std430, set = 0, binding = 1) readonly buffer Left { uint8_t a_data[]; };
layout(std430, set = 0, binding = 2) readonly buffer Right { uint8_t b_data[]; };
layout(std430, set = 0, binding = 3) readonly buffer LeftZero { uint8_t a_zero[]; };
layout(std430, set = 0, binding = 4) readonly buffer RightZero { uint8_t b_zero[]; };
#ifdef REQUANTIZED
layout(std430, set = 0, binding = 5) readonly buffer LeftScale { float a_scale[]; };
layout(std430, set = 0, binding = 6) readonly buffer RightScale { float b_scale[]; };
layout(std430, set = 0, binding = 7) readonly buffer ResultScale { float y_scale[]; };
layout(std430, set = 0, binding = 8) readonly buffer ResultZero { uint8_t y_zero[]; };
layout(std430, set = 0, binding = 9) writeonly buffer Result { uint8_t y_data[]; };
#else
layout(std430, set = 0, binding = 5) writeonly buffer Result { int y_data[]; };
#endif

// The words of p[], each read once, before main, as in product.glsl.
uint P_M = p[0];
uint P_N = p[1];
uint P_K = p[2];
uint P_BATCHES = p[3];
uint P_A_MATRIX = p[4];  // matrices from one batch to the next, 0 or 1; kIntegerTable: two words of the table instead
uint P_B_MATRIX = p[5];
uint P_A_ZERO_MATRIX = p[6];  // strides of zero points, from matrix to matrix and from row (or column) to row
uint P_A_ZERO_ROW = p[7];
uint P_B_ZERO_MATRIX = p[8];
uint P_B_ZERO_COLUMN = p[9];
uint P_A_SCALE_ROW = p[10];
uint P_B_SCALE_COLUMN = p[11];
uint P_Y_SCALE_ROW = p[12];
uint P_Y_ZERO_ROW = p[13];
#define P_TABLE 14u

void main() {
  const uint across = (P_N + 3u) / 4u;
  const uint down = (P_M + 3u) / 4u;
  const uint index = Index();
  if (index >= across * down * P_BATCHES) return;
  const uint column = index % across * 4u;
  const uint row = index / across % down * 4u;
  const uint batch = index / (across * down);
  uint a_matrix = batch * P_A_MATRIX, b_matrix = batch * P_B_MATRIX;
  if ((kFlags & kIntegerTable) != 0u) {
    a_matrix = p[P_TABLE + batch * 2u];
    b_matrix = p[P_TABLE + batch * 2u + 1u];
  }
  const bool a_signed = (kFlags & kIntegerASigned) != 0u;
  const bool b_signed = (kFlags & kIntegerBSigned) != 0u;

  uint a_at[4];
  int a_less[4];
  uint b_at[4];
  int b_less[4];
  int sums[4][4];
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    const uint r = min(row + i, P_M - 1u), c = min(column + i, P_N - 1u);
    a_at[i] = (a_matrix * P_M + r) * P_K;
    b_at[i] = b_matrix * P_K * P_N + c;
    a_less[i] = (kFlags & kIntegerAZero) == 0u
                    ? 0
                    : ByteValue(uint(a_zero[a_matrix * P_A_ZERO_MATRIX + r * P_A_ZERO_ROW]), a_signed);
    b_less[i] = (kFlags & kIntegerBZero) == 0u
                    ? 0
                    : ByteValue(uint(b_zero[b_matrix * P_B_ZERO_MATRIX + c * P_B_ZERO_COLUMN]), b_signed);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) sums[i][j] = 0;
  }
  for (uint k = 0u; k < P_K; ++k) {
    int right[4];
    [[unroll]] for (uint j = 0u; j < 4u; ++j)
      right[j] = ByteValue(uint(b_data[b_at[j] + k * P_N]), b_signed) - b_less[j];
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      const int left = ByteValue(uint(a_data[a_at[i] + k]), a_signed) - a_less[i];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) sums[i][j] += left * right[j];
    }
  }
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    if (row + i >= P_M) return;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      if (column + j >= P_N) break;
      const uint at = (batch * P_M + row + i) * P_N + column + j;
#ifdef REQUANTIZED
      const bool y_signed = (kFlags & kIntegerYSigned) != 0u;
      const float factor = Quotient(a_scale[(row + i) * P_A_SCALE_ROW], y_scale[(row + i) * P_Y_SCALE_ROW]) *
                           b_scale[(column + j) * P_B_SCALE_COLUMN];
      const float zero = float(ByteValue(uint(y_zero[(row + i) * P_Y_ZERO_ROW]), y_signed));
      y_data[at] = uint8_t(Saturate(float(sums[i][j]) * factor, zero, y_signed));
#else
      y_data[at] = sums[i][j];
#endif
    }
  }
}
