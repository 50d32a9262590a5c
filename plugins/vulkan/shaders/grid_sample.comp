#version 450
//! variant grid_sample.f32 T_F32
//! variant grid_sample.f16 T_F16
// Samples x [N, C, d1..dk], k at most 3, to y [N, C, points], at the positions that grid [N, points, k] gives. A
// position has its innermost axis first, and goes from -1 to 1 over each axis.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(constant_id = 0) const uint kMode = 0;     // linear, nearest, cubic
layout(constant_id = 1) const uint kPadding = 0;  // zeros, border, reflection
layout(constant_id = 2) const bool kAlignCorners = false;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Grid { T grid[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { T y[]; };

const float kFar = 1073741824.0;  // outside of any image
const uint kTaps = kMode == 0 ? 2 : kMode == 1 ? 1 : 4;

// Folds a position into [low, high], as often as needed.
float Reflect(float at, float low, float high) {
  const float range = high - low;
  if (!(range > 0)) return low;
  const float beyond = at < low ? low - at : at > high ? at - high : 0;
  if (beyond == 0) return at;
  const float turns = floor(beyond / range);
  const float rest = beyond - turns * range;
  const bool even = turns - 2 * floor(turns / 2) == 0;
  return (at < low) == even ? low + rest : high - rest;
}

float Cubic(float d) {
  const float a = -0.75;
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

// The index of the element at a whole position along an axis; -1: it is outside and counts as zero.
int Place(float at, float size, float low, float high) {
  if (!(at >= 0 && at <= size - 1)) {
    if (kPadding == 0) return -1;
    if (kPadding == 2) at = trunc(Reflect(at, low, high));
    at = clamp(at, 0.0, size - 1);
  }
  return int(at);
}

void main() {
  const uint count = p[0], points = p[1], channels = p[2], axes = p[3];
  const uint i = Index();
  if (i >= count) return;
  const uint point = i % points;
  const uint plane = i / points;
  int index[12];
  float weight[12];
  for (uint axis = 0; axis < axes; ++axis) {
    const float size = float(p[4 + axis]);
    const float low = kAlignCorners ? 0.0 : -0.5, high = kAlignCorners ? size - 1 : size - 0.5;
    const float given = C(grid[(plane / channels * points + point) * axes + (axes - 1 - axis)]) + 1;
    float at = kAlignCorners ? given / 2 * (size - 1) : (given * size - 1) / 2;
    if (!(abs(at) < kFar)) at = at > 0 ? kFar : -kFar;
    if (kMode == 1) at = roundEven(at);
    // A cubic window reaches over the border, so that its elements are moved inside (Place), but not its position.
    if ((at < low || at > high) && kMode != 2) {
      if (kPadding == 1) at = clamp(at, 0.0, size - 1);
      if (kPadding == 2) at = Reflect(at, low, high);
    }
    if (kMode == 1) at = trunc(at);
    const float left = floor(at);
    const float ratio = at - left;
    for (uint t = 0; t < kTaps; ++t) {
      const float step = kMode == 2 ? float(t) - 1 : float(t);
      index[4 * axis + t] = Place(left + step, size, low, high);
      weight[4 * axis + t] = kMode == 1 ? 1.0 : kMode == 0 ? (t == 0 ? 1 - ratio : ratio) : Cubic(abs(step - ratio));
    }
  }
  uint combinations = 1, pixels = 1;
  for (uint axis = 0; axis < axes; ++axis) {
    combinations *= kTaps;
    pixels *= p[4 + axis];
  }
  float sum = 0;
  for (uint c = 0; c < combinations; ++c) {
    uint rest = c, stride = 1, from = 0;
    float product = 1;
    bool inside = true;
    for (uint axis = axes; axis-- > 0;) {
      const uint t = 4 * axis + rest % kTaps;
      rest /= kTaps;
      inside = inside && index[t] >= 0;
      from += uint(index[t]) * stride;
      product *= weight[t];
      stride *= p[4 + axis];
    }
    if (inside) sum += product * C(x[plane * pixels + from]);
  }
  y[i] = T(sum);
}
