#version 450
//! variant roi_align.f32 T_F32
//! variant roi_align.f16 T_F16
// Computes y [R, C, h, w] from regions [R, 4] of images x [N, C, H, W]: the average, or the largest weighted element,
// of the samples in each bin. The result for a region of an image that doesn't exist is 0.
#include "common.glsl"

layout(local_size_x = kLinearGroup) in;
layout(constant_id = 0) const bool kMaximum = false;
layout(constant_id = 1) const bool kHalfPixel = true;
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
layout(std430, set = 0, binding = 2) readonly buffer Rois { T rois[]; };
layout(std430, set = 0, binding = 3) readonly buffer Ix { uint ix[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { T y[]; };
#include "index.glsl"

const uint kMostSamples = 1024;

uint Samples(uint given, float bin) {
  if (given != 0) return given;
  return bin > 0 ? min(uint(min(ceil(bin), float(kMostSamples))), kMostSamples) : 0;
}

void main() {
  const uint count = p[0], channels = p[1], height = p[2], width = p[3], bins_y = p[4], bins_x = p[5], images = p[6];
  const float scale = uintBitsToFloat(p[8]);
  const uint i = Index();
  if (i >= count) return;
  const uint bin_x = i % bins_x, bin_y = i / bins_x % bins_y, channel = i / (bins_x * bins_y) % channels;
  const uint roi = i / (bins_x * bins_y * channels);
  const uint image = ReadIndex(roi, 2, images);
  if (image == kNowhere) {
    y[i] = T(0.0);
    return;
  }
  const float offset = kHalfPixel ? 0.5 : 0.0;
  const float left = C(rois[roi * 4]) * scale - offset, top = C(rois[roi * 4 + 1]) * scale - offset;
  float roi_width = C(rois[roi * 4 + 2]) * scale - offset - left;
  float roi_height = C(rois[roi * 4 + 3]) * scale - offset - top;
  if (!kHalfPixel) {
    roi_width = max(roi_width, 1.0);
    roi_height = max(roi_height, 1.0);
  }
  const float bin_height = roi_height / float(bins_y), bin_width = roi_width / float(bins_x);
  const uint samples_y = Samples(p[7], bin_height), samples_x = Samples(p[7], bin_width);
  const uint plane = (image * channels + channel) * height * width;
  const float last_y = float(height - 1), last_x = float(width - 1);
  float sum = 0;
  float most = uintBitsToFloat(0xff800000u);
  for (uint sy = 0; sy < samples_y; ++sy) {
    const float at_y = top + float(bin_y) * bin_height + (float(sy) + 0.5) * bin_height / float(samples_y);
    for (uint sx = 0; sx < samples_x; ++sx) {
      const float at_x = left + float(bin_x) * bin_width + (float(sx) + 0.5) * bin_width / float(samples_x);
      uint near_y = 0, near_x = 0, far_y = 0, far_x = 0;
      float wy = 0, wx = 0, counts = 0;
      if (at_y >= -1 && at_y <= float(height) && at_x >= -1 && at_x <= float(width)) {
        const float in_y = clamp(at_y, 0.0, last_y), in_x = clamp(at_x, 0.0, last_x);
        near_y = uint(in_y);
        near_x = uint(in_x);
        far_y = min(near_y + 1, height - 1);
        far_x = min(near_x + 1, width - 1);
        wy = in_y - float(near_y);
        wx = in_x - float(near_x);
        counts = 1;
      }
      const float a = counts * (1 - wy) * (1 - wx) * C(x[plane + near_y * width + near_x]);
      const float b = counts * (1 - wy) * wx * C(x[plane + near_y * width + far_x]);
      const float c = counts * wy * (1 - wx) * C(x[plane + far_y * width + near_x]);
      const float d = counts * wy * wx * C(x[plane + far_y * width + far_x]);
      sum += a + b + c + d;
      most = max(most, max(max(a, b), max(c, d)));
    }
  }
  const uint all = samples_y * samples_x;
  y[i] = T(all == 0 ? 0.0 : kMaximum ? most : sum / float(all));
}
