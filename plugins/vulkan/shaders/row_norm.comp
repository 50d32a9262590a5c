//! variant row_norm.f32 T_F32
//! variant row_norm.f16 T_F16
//! variant row_norm_stats.f32 T_F32 STATISTICS
//! variant row_norm_stats.f16 T_F16 STATISTICS
//! variant row_norm_skip.f32 T_F32 SKIP
//! variant row_norm_skip.f16 T_F16 SKIP
//! variant row_norm_tiled.f32 T_F32 TILED
//! variant row_norm_tiled.f16 T_F16 TILED
//! variant row_norm_stats_tiled.f32 T_F32 STATISTICS TILED
//! variant row_norm_stats_tiled.f16 T_F16 STATISTICS TILED
//! variant row_norm_skip_tiled.f32 T_F32 SKIP TILED
//! variant row_norm_skip_tiled.f16 T_F16 SKIP TILED
// Rows, each normalised by its own mean and variance (or mean square): by one invocation or, TILED, by a workgroup.
// STATISTICS also writes mean and inverse deviation; SKIP normalises x + skip, and writes that too.
#version 450
#include "common.glsl"
#include "normalization.glsl"
layout(local_size_x = 64) in;

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

#if defined(TILED)
shared float partial[64];
// The sum over the workgroup, for each of its invocations.
float Total(float value) {
  const uint lane = gl_LocalInvocationID.x;
  partial[lane] = value;
  barrier();
  for (uint half_size = 32; half_size > 0; half_size /= 2) {
    if (lane < half_size) partial[lane] += partial[lane + half_size];
    barrier();
  }
  const float total = partial[0];
  barrier();
  return total;
}
#else
float Total(float value) { return value; }
#endif

void main() {
#if defined(TILED)
  const uint row = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  const uint first = gl_LocalInvocationID.x;
  const uint step = 64;
#else
  const uint row = Index();
  const uint first = 0;
  const uint step = 1;
#endif
  if (row >= ROWS) return;
  const uint size = ROW_SIZE;
  const uint base = row * size;

  float mean = 0.0;
  if (kCentred != 0) {
    float total = 0.0;
    for (uint i = first; i < size; i += step) total += ELEMENT(base + i);
    mean = Total(total) / float(size);
  }
  float squares = 0.0;
  for (uint i = first; i < size; i += step) {
    const float distance = ELEMENT(base + i) - mean;
    squares += distance * distance;
  }
  const float inverse = 1.0 / sqrt(Total(squares) / float(size) + EPSILON);

  ParameterWalk walk = WalkFrom(row, first);
  for (uint i = first; i < size; i += step) {
    const float element = ELEMENT(base + i);
    const uint at = IndexOf(walk);
    float value = (element - mean) * inverse * float(scale[at]);
    if (kHasBias != 0) value += float(bias[at]);
    y[base + i] = T(value);
#if defined(SKIP)
    if (kWritesSum != 0) sum[base + i] = T(element);
#endif
    Advance(walk, step);
  }
#if defined(STATISTICS)
  if (first == 0) {
    means[row] = mean;
    inverses[row] = inverse;
  }
#endif
}
