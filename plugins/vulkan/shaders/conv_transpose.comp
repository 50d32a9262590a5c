//! variant conv_transpose.f32 T_F32
//! variant conv_transpose.f16 T_F16
// Transposed convolution that gathers its input. An invocation computes 8 filters at up to 4 positions of a row. The
// positions are a stride apart, so that they read the same taps. Weights have the layout of conv.comp;
// RecordConvTranspose in ops/nn/conv_transpose.cpp writes the geometry.
#version 450
#include "common.glsl"
layout(local_size_x = kLinearGroup) in;

layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
#if defined(T_F16)
layout(std430, set = 0, binding = 2) readonly buffer W { f16vec4 w[]; };
#else
layout(std430, set = 0, binding = 2) readonly buffer W { vec4 w[]; };
#endif
layout(std430, set = 0, binding = 3) readonly buffer B { T b[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { T y[]; };

layout(constant_id = 0) const uint kHasBias = 0;

// The words of p[], each read once, before main, as in product.glsl.
uint IMAGES = p[0];
uint GROUPS = p[1];
uint FILTERS = p[2];
uint CHANNELS = p[3];
uint FILTER_BLOCKS = p[4];
uint PIECES = p[5];  // parts of an output row: one for each position in a stride, in each run of 4 * stride elements
ivec3 in_size = ivec3(p[6], p[7], p[8]);
uvec3 out_size = uvec3(p[9], p[10], p[11]);
ivec3 kernel = ivec3(p[12], p[13], p[14]);
ivec3 stride = ivec3(p[15], p[16], p[17]);
ivec3 dilation = ivec3(p[18], p[19], p[20]);
ivec3 before = ivec3(p[21], p[22], p[23]);

const uint kPositions = 4;

void main() {
  uint index = Index();
  const uint piece = index % PIECES;
  index /= PIECES;
  const int at_y = int(index % out_size.y);
  index /= out_size.y;
  const int at_z = int(index % out_size.x);
  index /= out_size.x;
  const uint block = index % (GROUPS * FILTER_BLOCKS);
  const uint image = index / (GROUPS * FILTER_BLOCKS);
  if (image >= IMAGES) return;
  const int step = stride.z;
  const int first = int(piece) / step * step * int(kPositions) + int(piece) % step;
  if (first >= int(out_size.z)) return;
  const uint group = block / FILTER_BLOCKS;
  const uint plane = uint(in_size.x * in_size.y * in_size.z);
  const uint base = (image * GROUPS + group) * CHANNELS * plane;

  vec4 low[kPositions];
  vec4 high[kPositions];
  for (uint j = 0; j < kPositions; ++j) {
    low[j] = vec4(0);
    high[j] = vec4(0);
  }
  uint tap = 0;
  for (int kz = 0; kz < kernel.x; ++kz) {
    const int from_z = at_z + before.x - kz * dilation.x;
    for (int ky = 0; ky < kernel.y; ++ky) {
      const int from_y = at_y + before.y - ky * dilation.y;
      for (int kx = 0; kx < kernel.z; ++kx, ++tap) {
        const int from_x = first + before.z - kx * dilation.z;
        // The division must be exact. If it leaves a rest, or is negative, the tap reaches none of these positions from
        // this row.
        const int z = from_z / stride.x;
        const int y_row = from_y / stride.y;
        if (from_z < 0 || z * stride.x != from_z || z >= in_size.x) continue;
        if (from_y < 0 || y_row * stride.y != from_y || y_row >= in_size.y) continue;
        // Position j reads element x_first + j, which may lie outside of the row.
        const int shifted = from_x + step * int(kPositions);
        const int x_first = shifted / step - int(kPositions);
        if (shifted < 0 || shifted % step != 0 || x_first >= in_size.z) continue;
        uint at[kPositions];
        bool inside[kPositions];
        const uint row = base + uint((z * in_size.y + y_row) * in_size.z);
        for (uint j = 0; j < kPositions; ++j) {
          inside[j] = x_first + int(j) >= 0 && x_first + int(j) < in_size.z;
          at[j] = row + uint(clamp(x_first + int(j), 0, in_size.z - 1));
        }
        uint weight = (block * uint(kernel.x * kernel.y * kernel.z) + tap) * CHANNELS * 2;
        for (uint c = 0; c < CHANNELS; ++c) {
          const vec4 w_low = vec4(w[weight]);
          const vec4 w_high = vec4(w[weight + 1]);
          for (uint j = 0; j < kPositions; ++j) {
            const float value = inside[j] ? float(x[at[j] + c * plane]) : 0.0;
            low[j] += w_low * value;
            high[j] += w_high * value;
          }
          weight += 2;
        }
      }
    }
  }

  const uint first_filter = (block - group * FILTER_BLOCKS) * 8;
  for (uint i = 0; i < 8; ++i) {
    if (first_filter + i >= FILTERS) return;
    const uint filter_index = group * FILTERS + first_filter + i;
    const float bias = kHasBias != 0 ? float(b[filter_index]) : 0.0;
    const uint row = ((image * GROUPS * FILTERS + filter_index) * out_size.x + uint(at_z)) * out_size.y + uint(at_y);
    for (uint j = 0; j < kPositions; ++j) {
      const int at_x = first + int(j) * step;
      if (at_x >= int(out_size.z)) break;
      y[row * out_size.z + uint(at_x)] = T((i < 4 ? low[j][i & 3] : high[j][i & 3]) + bias);
    }
  }
}
