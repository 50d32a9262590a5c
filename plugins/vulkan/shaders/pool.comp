//! variant pool.f32 T_F32
//! variant pool.f16 T_F16
//! variant pool.i8 T_I8
//! variant pool.u8 T_U8
//! variant pool_quantized.i8 T_I8 QUANTIZED
//! variant pool_quantized.u8 T_U8 QUANTIZED
//! variant pool_indices.f32 T_F32 INDICES
//! variant pool_indices.f16 T_F16 INDICES
//! variant pool_indices.i8 T_I8 INDICES
//! variant pool_indices.u8 T_U8 INDICES
// Pools: an invocation computes one element of the output. p[] has the planes; then three numbers each (depth, height,
// width) of the input, the output, the kernel, strides, dilations, the padding before, and where the padding behind
// ends; then the exponent of LpPool. QUANTIZED: an average of bytes that is quantised again. Instead of the exponent,
// p[] then has the scales of x and y, their zero points, and the least and the greatest value of y, as floats.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#if defined(T_F32) || defined(T_F16)
#define FLOATS
#include "math.glsl"
#endif
#if defined(QUANTIZED)
#include "quantization.glsl"
#endif
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { T y[]; };
#if defined(INDICES)
layout(std430, set = 0, binding = 3) writeonly buffer Indices { uvec2 indices[]; };  // int64
#endif

layout(constant_id = 0) const uint kPool = kPoolMaximum;
layout(constant_id = 1) const uint kColumnMajor = 0;    // indices count column by column
layout(constant_id = 2) const uint kPaddingCounts = 0;  // averages count the padding

// The words of p[], each read once, before main, as in product.glsl.
uint PLANES = p[0];
ivec3 in_size = ivec3(p[1], p[2], p[3]);
uvec3 out_size = uvec3(p[4], p[5], p[6]);
ivec3 kernel = ivec3(p[7], p[8], p[9]);
ivec3 strides = ivec3(p[10], p[11], p[12]);
ivec3 dilations = ivec3(p[13], p[14], p[15]);
ivec3 before = ivec3(p[16], p[17], p[18]);
ivec3 ends = ivec3(p[19], p[20], p[21]);
#define IN(d) in_size[d]
#define OUT(d) out_size[d]
#define KERNEL(d) kernel[d]
#define STRIDE(d) strides[d]
#define DILATION(d) dilations[d]
#define BEFORE(d) before[d]
#define END(d) ends[d]
#if defined(QUANTIZED)
float X_SCALE = uintBitsToFloat(p[22]);
float Y_SCALE = uintBitsToFloat(p[23]);
float X_ZERO = uintBitsToFloat(p[24]);
float Y_ZERO = uintBitsToFloat(p[25]);
float LOWEST = uintBitsToFloat(p[26]);
float HIGHEST = uintBitsToFloat(p[27]);
#else
float EXPONENT = uintBitsToFloat(p[22]);
#endif

// The taps of one dimension that lie inside the input: the first element that they read, and their number.
struct Taps {
  int first;
  int count;
};
int TapsBefore(uint d, int start, int end) {
  return start >= end ? 0 : min(KERNEL(d), (end - 1 - start) / DILATION(d) + 1);
}
Taps Inside(uint d, int start) {
  const int skipped = start < 0 ? (DILATION(d) - 1 - start) / DILATION(d) : 0;
  return Taps(start + skipped * DILATION(d), max(TapsBefore(d, start, IN(d)) - skipped, 0));
}

void main() {
  const uint index = Index();
  uint rest = index;
  const int start_x = int(rest % OUT(2)) * STRIDE(2) - BEFORE(2);
  rest /= OUT(2);
  const int start_y = int(rest % OUT(1)) * STRIDE(1) - BEFORE(1);
  rest /= OUT(1);
  const int start_z = int(rest % OUT(0)) * STRIDE(0) - BEFORE(0);
  const uint plane = rest / OUT(0);
  if (plane >= PLANES) return;
  const Taps taps_z = Inside(0, start_z);
  const Taps taps_y = Inside(1, start_y);
  const Taps taps_x = Inside(2, start_x);
  const uint plane_size = uint(IN(0) * IN(1) * IN(2));

#if defined(QUANTIZED)
  float value = 0.0;
#elif defined(FLOATS)
  C value = kPool == kPoolMaximum ? -Infinity() : 0.0;
#else
  C value = C(0);
#endif
  bool any = false;
  uint found = 0;
  for (int kz = 0; kz < taps_z.count; ++kz) {
    const int at_z = taps_z.first + kz * DILATION(0);
    for (int ky = 0; ky < taps_y.count; ++ky) {
      const int at_y = taps_y.first + ky * DILATION(1);
      uint at = uint((at_z * IN(1) + at_y) * IN(2) + taps_x.first);
#if defined(QUANTIZED)
      int row = 0;  // exact; so is the sum of rows, up to 2^24
      int kx = 0;
      // Eight at a time: Mesa's llvmpipe (22.3) leaves loops after 65,535 passes of one invocation, which whole planes
      // reach.
      for (; kx + 8 <= taps_x.count; kx += 8) {
        [[unroll]] for (uint i = 0u; i < 8u; ++i) row += int(x[plane * plane_size + at + i * uint(DILATION(2))]);
        at += 8u * uint(DILATION(2));
      }
      for (; kx < taps_x.count; ++kx) {
        row += int(x[plane * plane_size + at]);
        at += uint(DILATION(2));
      }
      value += float(row);
#else
      for (int kx = 0; kx < taps_x.count; ++kx) {
        const C element = C(x[plane * plane_size + at]);
#if defined(FLOATS)
        if (kPool == kPoolAverage) value += element;
        if (kPool == kPoolNorm) {
          const float magnitude = abs(element);
          value += EXPONENT == 2.0 ? magnitude * magnitude
                                   : EXPONENT == 1.0 ? magnitude : Exp(EXPONENT * Log(magnitude));
        }
        const bool wins = IsNan(element) ? !IsNan(value) : element > value;  // the first NaN counts
#else
        const bool wins = element > value;
#endif
        if (kPool == kPoolMaximum && (!any || wins)) {
          value = element;
          found = at;
        }
        any = true;
        at += uint(DILATION(2));
      }
#endif
    }
  }
#if defined(FLOATS) || defined(QUANTIZED)
  const int inside = taps_z.count * taps_y.count * taps_x.count;
  const int padded =
      TapsBefore(0, start_z, END(0)) * TapsBefore(1, start_y, END(1)) * TapsBefore(2, start_x, END(2));
  const float counted = float(max(kPaddingCounts != 0 ? padded : inside, 1));
#endif
#if defined(QUANTIZED)
  const float real = Quotient((value - float(inside) * X_ZERO) * X_SCALE, counted);
  y[index] = T(C(Quantised(Quotient(real, Y_SCALE), Y_ZERO, LOWEST, HIGHEST)));
#else
#if defined(FLOATS)
  if (kPool == kPoolAverage) value /= counted;
  if (kPool == kPoolNorm) value = EXPONENT == 2.0 ? sqrt(value) : EXPONENT == 1.0 ? value : Exp(Log(value) / EXPONENT);
#endif
  y[index] = T(value);
#if defined(INDICES)
  if (kColumnMajor != 0) {
    const uint at_x = found % uint(IN(2));
    const uint at_y = found / uint(IN(2)) % uint(IN(1));
    const uint at_z = found / uint(IN(2) * IN(1));
    found = (at_x * uint(IN(1)) + at_y) * uint(IN(0)) + at_z;
  }
  indices[index] = uvec2(plane * plane_size + found, 0);
#endif
#endif
}
