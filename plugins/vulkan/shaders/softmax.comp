// Softmax, LogSoftmax and Hardmax along rows; the elements of a row lie `inner` apart.
//     p: rows, elements of a row, inner
//! variant softmax.f32 T_F32
//! variant softmax.f16 T_F16
//! variant softmax_shared.f32 T_F32 SHARED
//! variant softmax_shared.f16 T_F16 SHARED
//! variant softmax_subgroup.f32 T_F32 SUBGROUP
//! variant softmax_subgroup.f16 T_F16 SUBGROUP
#version 450
#include "common.glsl"
#define ROW_CONSTANTS 1
#include "rows.glsl"

layout(constant_id = 0) const uint kMode = 0u;  // Softmax, LogSoftmax, Hardmax
layout(std430, set = 0, binding = 1) readonly buffer From { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer To { T y[]; };

uint Lower(uint a, uint b) { return min(a, b); }
ROW_MEMORY(row_places, uint)
ROW_FUNCTION(RowFirst, uint, row_places, subgroupMin, Lower)

bool IsSame(float a, float b) { return a == b || (IsNan(a) && IsNan(b)); }

void Compute(uint row) {
  const uint n = p[1], inner = p[2];
  const uint begin = inner == 1u ? row * n : row / inner * n * inner + row % inner;

  float largest = -Infinity();
  for (uint i = row_first; i < n; i += row_step) largest = Larger(largest, C(x[begin + i * inner]));
  largest = RowLargest(largest);  // NaN, if the row has one
  if (kMode == 2u) {
    uint place = 0xFFFFFFFFu;
    for (uint i = row_first; i < n; i += row_step)
      if (IsSame(C(x[begin + i * inner]), largest)) place = min(place, i);
    place = RowFirst(place);
    for (uint i = row_first; i < n; i += row_step) y[begin + i * inner] = T(i == place ? 1.0 : 0.0);
    return;
  }
  float sum = 0.0;
  for (uint i = row_first; i < n; i += row_step) sum += Exp(C(x[begin + i * inner]) - largest);
  sum = RowSum(sum);
  if (kMode == 0u) {
    const float scale = 1.0 / sum;
    for (uint i = row_first; i < n; i += row_step)
      y[begin + i * inner] = T(Exp(C(x[begin + i * inner]) - largest) * scale);
  } else {
    const float log_sum = Log(sum);
    for (uint i = row_first; i < n; i += row_step)
      y[begin + i * inner] = T((C(x[begin + i * inner]) - largest) - log_sum);
  }
}

void main() {
  const uint rows = p[0];
  FOR_ROWS(row, rows) Compute(row);
}
