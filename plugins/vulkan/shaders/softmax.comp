// Softmax, LogSoftmax and Hardmax along rows whose elements lie `inner` apart. An invocation takes a row; with SHARED a
// workgroup does.
//     p: rows, elements of a row, inner
//! variant softmax.f32 T_F32
//! variant softmax.f16 T_F16
//! variant softmax_shared.f32 T_F32 SHARED
//! variant softmax_shared.f16 T_F16 SHARED
#version 450
#include "common.glsl"
#include "math.glsl"

layout(constant_id = 0) const uint kMode = 0u;  // Softmax, LogSoftmax, Hardmax
#ifdef SHARED
layout(local_size_x_id = 1) in;  // a power of two
#else
layout(local_size_x = 64) in;
#endif
layout(std430, set = 0, binding = 1) readonly buffer From { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer To { T y[]; };

// What of two elements is the largest, and of equal ones the first; NaN is larger than any.
struct Largest {
  float value;
  uint at;
};
Largest Join(Largest a, Largest b) {
  const bool other = IsNan(a.value) ? (IsNan(b.value) && b.at < a.at)
                                    : (IsNan(b.value) || b.value > a.value || (b.value == a.value && b.at < a.at));
  if (other) return b;
  return a;
}

#ifdef SHARED
shared float values[gl_WorkGroupSize.x];
shared uint places[gl_WorkGroupSize.x];

Largest JoinAll(Largest mine) {
  const uint me = gl_LocalInvocationID.x;
  values[me] = mine.value;
  places[me] = mine.at;
  barrier();
  for (uint half_n = gl_WorkGroupSize.x / 2u; half_n > 0u; half_n /= 2u) {
    if (me < half_n) {
      const Largest joined =
          Join(Largest(values[me], places[me]), Largest(values[me + half_n], places[me + half_n]));
      values[me] = joined.value;
      places[me] = joined.at;
    }
    barrier();
  }
  const Largest all = Largest(values[0], places[0]);
  barrier();  // before the memory is used again
  return all;
}
float AddAll(float mine) {
  const uint me = gl_LocalInvocationID.x;
  values[me] = mine;
  barrier();
  for (uint half_n = gl_WorkGroupSize.x / 2u; half_n > 0u; half_n /= 2u) {
    if (me < half_n) values[me] += values[me + half_n];
    barrier();
  }
  return values[0];
}
#endif

void main() {
#ifdef SHARED
  const uint row = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  const uint first = gl_LocalInvocationID.x, step = gl_WorkGroupSize.x;
#else
  const uint row = Index();
  const uint first = 0u, step = 1u;
#endif
  if (row >= p[0]) return;
  const uint n = p[1], inner = p[2];
  const uint begin = inner == 1u ? row * n : row / inner * n * inner + row % inner;

  Largest largest = Largest(-Infinity(), 0xFFFFFFFFu);
  for (uint i = first; i < n; i += step) largest = Join(largest, Largest(C(x[begin + i * inner]), i));
#ifdef SHARED
  largest = JoinAll(largest);
#endif
  if (kMode == 2u) {
    for (uint i = first; i < n; i += step) y[begin + i * inner] = T(i == largest.at ? 1.0 : 0.0);
    return;
  }
  float sum = 0.0;
  for (uint i = first; i < n; i += step) sum += Exp(C(x[begin + i * inner]) - largest.value);
#ifdef SHARED
  sum = AddAll(sum);
#endif
  if (kMode == 0u) {
    const float scale = 1.0 / sum;
    for (uint i = first; i < n; i += step)
      y[begin + i * inner] = T(Exp(C(x[begin + i * inner]) - largest.value) * scale);
  } else {
    const float log_sum = Log(sum);
    for (uint i = first; i < n; i += step)
      y[begin + i * inner] = T((C(x[begin + i * inner]) - largest.value) - log_sum);
  }
}
