//! variant conv_integer.i32 USES_8
//! variant conv_integer_requantized USES_8 REQUANTIZED
// Convolutions of 8-bit tensors with zero points in up to three dimensions. Results are int32 sums, which wrap, or are
// quantised again. An invocation computes one position of four filters of a group, so that each element of the input
// that it reads serves all of them.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
#include "quantization.glsl"
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

// The words of p[], each read once, before main, as in product.glsl.
uint P_COUNT = p[0];     // number of invocations
uint P_CHANNELS = p[1];  // channels of the input
uint P_FILTERS = p[2];
uint P_CHANNELS_PER_GROUP = p[3];
uint P_FILTERS_PER_GROUP = p[4];
uint P_W_ZERO_STRIDE = p[5];  // from one filter to the next: 0 or 1
uint P_W_SCALE_STRIDE = p[6];
ivec3 P_IN = ivec3(p[7], p[8], p[9]);  // depth, height, width
uvec3 P_OUT = uvec3(p[10], p[11], p[12]);
ivec3 P_KERNEL = ivec3(p[13], p[14], p[15]);
ivec3 P_STRIDE = ivec3(p[16], p[17], p[18]);
ivec3 P_DILATION = ivec3(p[19], p[20], p[21]);
ivec3 P_PAD = ivec3(p[22], p[23], p[24]);

void main() {
  const uint index = Index();
  if (index >= P_COUNT) return;
  uint rest = index;
  ivec3 start;
  start.z = int(rest % P_OUT[2]) * P_STRIDE[2] - P_PAD[2];
  rest /= P_OUT[2];
  start.y = int(rest % P_OUT[1]) * P_STRIDE[1] - P_PAD[1];
  rest /= P_OUT[1];
  start.x = int(rest % P_OUT[0]) * P_STRIDE[0] - P_PAD[0];
  rest /= P_OUT[0];
  const uint positions = P_OUT[0] * P_OUT[1] * P_OUT[2];
  const uint blocks = (P_FILTERS_PER_GROUP + 3u) / 4u;
  const uint first = rest % blocks * 4u;  // first filter of this invocation in its group
  const uint group = rest / blocks % (P_FILTERS / P_FILTERS_PER_GROUP);
  const uint image = rest / (blocks * (P_FILTERS / P_FILTERS_PER_GROUP));
  const bool x_signed = (kFlags & kConvXSigned) != 0u;
  const bool w_signed = (kFlags & kConvWSigned) != 0u;
  const int x_less = (kFlags & kConvXZero) == 0u ? 0 : ByteValue(uint(x_zero[0]), x_signed);

  const uint depth = P_CHANNELS_PER_GROUP * uint(P_KERNEL[0] * P_KERNEL[1] * P_KERNEL[2]);
  uint w_at[4];
  int w_less[4];
  int sums[4];
  [[unroll]] for (uint f = 0u; f < 4u; ++f) {
    const uint filter_index = group * P_FILTERS_PER_GROUP + min(first + f, P_FILTERS_PER_GROUP - 1u);
    w_at[f] = filter_index * depth;
    w_less[f] =
        (kFlags & kConvWZero) == 0u ? 0 : ByteValue(uint(w_zero[filter_index * P_W_ZERO_STRIDE]), w_signed);
    sums[f] = 0;
  }
  uint tap = 0u;
  for (uint channel = 0u; channel < P_CHANNELS_PER_GROUP; ++channel) {
    const uint plane = image * P_CHANNELS + group * P_CHANNELS_PER_GROUP + channel;
    for (int i = 0; i < P_KERNEL[0]; ++i) {
      const int a = start.x + i * P_DILATION[0];
      for (int j = 0; j < P_KERNEL[1]; ++j) {
        const int b = start.y + j * P_DILATION[1];
        for (int k = 0; k < P_KERNEL[2]; ++k, ++tap) {
          const int c = start.z + k * P_DILATION[2];
          if (a < 0 || a >= P_IN[0] || b < 0 || b >= P_IN[1] || c < 0 || c >= P_IN[2]) continue;
          const uint x_at = ((plane * uint(P_IN[0]) + uint(a)) * uint(P_IN[1]) + uint(b)) * uint(P_IN[2]) + uint(c);
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
    const bool y_signed = (kFlags & kConvYSigned) != 0u;
    int sum = sums[f];
    if ((kFlags & kConvBias) != 0u) sum += bias[filter_index];
    const float factor = Quotient(x_scale[0], y_scale[0]) * w_scale[filter_index * P_W_SCALE_STRIDE];
    const float zero = float(ByteValue(uint(y_zero[0]), y_signed));
    y[at] = uint8_t(Saturate(float(sum) * factor, zero, y_signed));
#else
    y[at] = sums[f];
#endif
  }
}
