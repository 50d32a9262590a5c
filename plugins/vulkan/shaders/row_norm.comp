//! variant row_norm.f32 T_F32
//! variant row_norm.f16 T_F16
//! variant row_norm_stats.f32 T_F32 STATISTICS
//! variant row_norm_stats.f16 T_F16 STATISTICS
//! variant row_norm_skip.f32 T_F32 SKIP
//! variant row_norm_skip.f16 T_F16 SKIP
//! variant row_norm_shared.f32 T_F32 SHARED
//! variant row_norm_shared.f16 T_F16 SHARED
//! variant row_norm_stats_shared.f32 T_F32 STATISTICS SHARED
//! variant row_norm_stats_shared.f16 T_F16 STATISTICS SHARED
//! variant row_norm_skip_shared.f32 T_F32 SKIP SHARED
//! variant row_norm_skip_shared.f16 T_F16 SKIP SHARED
//! variant row_norm_subgroup.f32 T_F32 SUBGROUP
//! variant row_norm_subgroup.f16 T_F16 SUBGROUP
//! variant row_norm_stats_subgroup.f32 T_F32 STATISTICS SUBGROUP
//! variant row_norm_stats_subgroup.f16 T_F16 STATISTICS SUBGROUP
//! variant row_norm_skip_subgroup.f32 T_F32 SKIP SUBGROUP
//! variant row_norm_skip_subgroup.f16 T_F16 SKIP SUBGROUP
// Normalises each row by its own mean and variance, or by its mean square. STATISTICS also writes mean and inverse
// deviation. SKIP normalises x + skip, and also writes this sum if kWritesSum is set.
#version 450
#include "common.glsl"
#include "normalization.glsl"
#if defined(SKIP)
#define ROW_CONSTANTS 3
#else
#define ROW_CONSTANTS 2
#endif
#include "rows.glsl"

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Scale { T scale[]; };
layout(std430, set = 0, binding = 3) readonly buffer Bias { T bias[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { T y[]; };
#if defined(STATISTICS)
layout(std430, set = 0, binding = 5) writeonly buffer Means { float means[]; };
layout(std430, set = 0, binding = 6) writeonly buffer Inverses { float inverses[]; };
#elif defined(SKIP)
layout(std430, set = 0, binding = 5) readonly buffer Skip { T skip[]; };
layout(std430, set = 0, binding = 6) writeonly buffer Sum { T sum[]; };
layout(constant_id = 2) const uint kWritesSum = 0;
#endif

#if defined(SKIP)
#define ELEMENT(at) (float(x[at]) + float(skip[at]))
#else
#define ELEMENT(at) float(x[at])
#endif

void Compute(uint row) {
  const uint size = ROW_SIZE;
  const uint base = row * size;

  float mean = 0.0;
  if (kCentred != 0) {
    float total = 0.0;
    for (uint i = row_first; i < size; i += row_step) total += ELEMENT(base + i);
    mean = RowSum(total) / float(size);
  }
  float squares = 0.0;
  for (uint i = row_first; i < size; i += row_step) {
    const float distance = ELEMENT(base + i) - mean;
    squares += distance * distance;
  }
  const float inverse = 1.0 / sqrt(RowSum(squares) / float(size) + EPSILON);

  ParameterWalk walk = WalkFrom(row, row_first);
  for (uint i = row_first; i < size; i += row_step) {
    const float element = ELEMENT(base + i);
    const uint at = IndexOf(walk);
    float value = (element - mean) * inverse * float(scale[at]);
    if (kHasBias != 0) value += float(bias[at]);
    y[base + i] = T(value);
#if defined(SKIP)
    if (kWritesSum != 0) sum[base + i] = T(element);
#endif
    Advance(walk, row_step);
  }
#if defined(STATISTICS)
  if (row_first == 0) {
    means[row] = mean;
    inverses[row] = inverse;
  }
#endif
}

void main() {
  const uint rows = ROWS;
  FOR_ROWS(row, rows) Compute(row);
}
