//! variant normalize.f32 T_F32
//! variant normalize.f16 T_F16
// Normalises elements by statistics that earlier dispatches computed. An invocation computes up to 16 elements of a
// run. The words of p[] behind those of normalization.glsl are the number of groups of dimensions, and for each group,
// outermost first, its size and its stride in the statistics.
#version 450
#include "common.glsl"
#include "normalization.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 3) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 4) readonly buffer Scale { T scale[]; };
layout(std430, set = 0, binding = 5) readonly buffer Bias { T bias[]; };
layout(std430, set = 0, binding = 6) writeonly buffer Y { T y[]; };

layout(constant_id = 2) const uint kForm = kNormalizeDivide;

#define GROUPS p[7]
#define GROUP_SIZE(i) p[8 + 2 * (i)]
#define GROUP_STRIDE(i) p[9 + 2 * (i)]

const uint kElements = 16;

void main() {
  const uint size = GROUP_SIZE(GROUPS - 1);
  const uint stride = GROUP_STRIDE(GROUPS - 1);
  const uint pieces = (size + kElements - 1) / kElements;
  const uint index = Index();
  const uint first = index % pieces * kElements;
  const uint run = index / pieces;
  uint rest = run;
  uint statistic = first * stride;
  for (uint i = GROUPS - 1; i > 0; --i) {
    const uint outer_size = GROUP_SIZE(i - 1);
    statistic += rest % outer_size * GROUP_STRIDE(i - 1);
    rest /= outer_size;
  }
  if (rest > 0) return;

  const uint base = run * size;
  ParameterWalk walk = ParameterWalk(0, 0, 0);
  if (kForm == kNormalizeRows) walk = WalkFrom((base + first) / ROW_SIZE, (base + first) % ROW_SIZE);
  const uint end = min(first + kElements, size);
  for (uint i = first; i < end; ++i) {
    const float element = float(x[base + i]);
    const float by = a[statistic];
    float value;
    if (kForm == kNormalizeDivide) {
      value = by == 0.0 ? 0.0 : element / by;
    } else if (kForm == kNormalizeCentred) {
      value = (element - by) / (b[statistic] + EPSILON);
    } else {
      const uint at = IndexOf(walk);
      const float deviation = b[statistic];
      value = (element - (kCentred != 0 ? by : 0.0)) / sqrt(deviation * deviation + EPSILON) * float(scale[at]);
      if (kHasBias != 0) value += float(bias[at]);
      Advance(walk, 1);
    }
    y[base + i] = T(value);
    statistic += stride;
  }
}
