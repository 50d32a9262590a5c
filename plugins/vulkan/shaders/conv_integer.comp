//! variant conv_integer.i32 USES_8
//! variant conv_integer_requantized USES_8 REQUANTIZED
// Convolutions of 8-bit tensors with zero points in up to three dimensions, as int32, which wraps, or quantised again. Each
// invocation has one position of four filters of a group, so that what it reads of the input serves all of them.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"

layout(local_size_x = 64) in;
#include "quantization.glsl"
#define FLAG_X_SIGNED 1u
#define FLAG_W_SIGNED 2u
#define FLAG_Y_SIGNED 4u
#define FLAG_X_ZERO 8u
#define FLAG_W_ZERO 16u
#define FLAG_BIAS 32u
layout(constant_id = 0) const uint kFlags = 0u;
layout(std430, set = 0, binding = 1) readonly buffer X { uint8_t x[]; };
layout(std430, set = 0, binding = 2) readonly buffer W { uint8_t w[]; };
layout(std430, set = 0, binding = 3) readonly buffer XZero { uint8_t x_zero[]; };
layout(std430, set = 0, binding = 4) readonly buffer WZero { uint8_t w_zero[]; };
#ifdef REQUANTIZED
layout(std430, set = 0, binding = 5) readonly buffer XScale { float x_scale[]; };
layout(std430, set = 0, binding = 6) readonly buffer WScale { float w_scale[]; };
layout(std430, set = 0, binding = 7) readonly buffer YScale { float y_scale[]; };
layout(std430, set = 0, binding = 8) readonly buffer YZero { uint8_t y_zero[]; };
layout(std430, set = 0, binding = 9) readonly buffer Bias { int bias[]; };
layout(std430, set = 0, binding = 10) writeonly buffer Y { uint8_t y[]; };
#else
layout(std430, set = 0, binding = 5) writeonly buffer Y { int y[]; };
#endif

#define P_COUNT p[0]             // of invocations
#define P_CHANNELS p[1]          // of the input
#define P_FILTERS p[2]
#define P_CHANNELS_PER_GROUP p[3]
#define P_FILTERS_PER_GROUP p[4]
#define P_W_ZERO_STRIDE p[5]     // by filter: 0 or 1
#define P_W_SCALE_STRIDE p[6]
#define P_IN(d) int(p[7u + d])   // sizes, of three dimensions each
#define P_OUT(d) p[10u + d]
#define P_KERNEL(d) int(p[13u + d])
#define P_STRIDE(d) int(p[16u + d])
#define P_DILATION(d) int(p[19u + d])
#define P_PAD(d) int(p[22u + d])

void main() {
  const uint index = Index();
  if (index >= P_COUNT) return;
  uint rest = index;
  ivec3 start;
  start.z = int(rest % P_OUT(2u)) * P_STRIDE(2u) - P_PAD(2u);
  rest /= P_OUT(2u);
  start.y = int(rest % P_OUT(1u)) * P_STRIDE(1u) - P_PAD(1u);
  rest /= P_OUT(1u);
  start.x = int(rest % P_OUT(0u)) * P_STRIDE(0u) - P_PAD(0u);
  rest /= P_OUT(0u);
  const uint positions = P_OUT(0u) * P_OUT(1u) * P_OUT(2u);
  const uint blocks = (P_FILTERS_PER_GROUP + 3u) / 4u;
  const uint first = rest % blocks * 4u;  // of the group's filters
  const uint group = rest / blocks % (P_FILTERS / P_FILTERS_PER_GROUP);
  const uint image = rest / (blocks * (P_FILTERS / P_FILTERS_PER_GROUP));
  const bool x_signed = (kFlags & FLAG_X_SIGNED) != 0u;
  const bool w_signed = (kFlags & FLAG_W_SIGNED) != 0u;
  const int x_less = (kFlags & FLAG_X_ZERO) == 0u ? 0 : ByteValue(uint(x_zero[0]), x_signed);

  const uint depth = P_CHANNELS_PER_GROUP * uint(P_KERNEL(0u) * P_KERNEL(1u) * P_KERNEL(2u));
  uint w_at[4];
  int w_less[4];
  int sums[4];
  [[unroll]] for (uint f = 0u; f < 4u; ++f) {
    const uint filter_index = group * P_FILTERS_PER_GROUP + min(first + f, P_FILTERS_PER_GROUP - 1u);
    w_at[f] = filter_index * depth;
    w_less[f] =
        (kFlags & FLAG_W_ZERO) == 0u ? 0 : ByteValue(uint(w_zero[filter_index * P_W_ZERO_STRIDE]), w_signed);
    sums[f] = 0;
  }
  uint tap = 0u;
  for (uint channel = 0u; channel < P_CHANNELS_PER_GROUP; ++channel) {
    const uint plane = image * P_CHANNELS + group * P_CHANNELS_PER_GROUP + channel;
    for (int i = 0; i < P_KERNEL(0u); ++i) {
      const int a = start.x + i * P_DILATION(0u);
      for (int j = 0; j < P_KERNEL(1u); ++j) {
        const int b = start.y + j * P_DILATION(1u);
        for (int k = 0; k < P_KERNEL(2u); ++k, ++tap) {
          const int c = start.z + k * P_DILATION(2u);
          if (a < 0 || a >= P_IN(0u) || b < 0 || b >= P_IN(1u) || c < 0 || c >= P_IN(2u)) continue;
          const uint x_at = ((plane * uint(P_IN(0u)) + uint(a)) * uint(P_IN(1u)) + uint(b)) * uint(P_IN(2u)) + uint(c);
          const int value = ByteValue(uint(x[x_at]), x_signed) - x_less;
          [[unroll]] for (uint f = 0u; f < 4u; ++f)
            sums[f] += value * (ByteValue(uint(w[w_at[f] + tap]), w_signed) - w_less[f]);
        }
      }
    }
  }
  [[unroll]] for (uint f = 0u; f < 4u; ++f) {
    if (first + f >= P_FILTERS_PER_GROUP) return;
    const uint filter_index = group * P_FILTERS_PER_GROUP + first + f;
    const uint at = (image * P_FILTERS + filter_index) * positions + index % positions;
#ifdef REQUANTIZED
    const bool y_signed = (kFlags & FLAG_Y_SIGNED) != 0u;
    int sum = sums[f];
    if ((kFlags & FLAG_BIAS) != 0u) sum += bias[filter_index];
    const float factor = Quotient(x_scale[0], y_scale[0]) * w_scale[filter_index * P_W_SCALE_STRIDE];
    const float zero = float(ByteValue(uint(y_zero[0]), y_signed));
    y[at] = uint8_t(Saturate(float(sum) * factor, zero, y_signed));
#else
    y[at] = sums[f];
#endif
  }
}
