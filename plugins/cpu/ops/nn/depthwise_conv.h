// Depthwise convolutions of row-major floats with a row-major result. oneDNN would reorder its input and its result,
// which takes longer than the sums.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/ops/nn/plane_windows.h"
#include "plugins/cpu/simd/window/small_planes.h"

namespace epiphyte::cpu {

// Nullopt when the convolution is not depthwise or not supported.
inline std::optional<simd::PlaneWindows> DepthwiseWindowsOf(const kit::ConvolutionShape& shape) {
  if (shape.in_per_group() != 1 || shape.y.Count() == 0 || shape.w.Count() == 0) return std::nullopt;
  std::optional<simd::PlaneWindows> windows = PlaneWindowsOf(shape.window, shape.x);
  // With a single channel, finding a few widely spaced taps takes as long as multiplying by them.
  constexpr int64_t kMostSteps = 2;
  if (windows && shape.group == 1 && (shape.spatial() != 2 || windows->stride_x > kMostSteps)) return std::nullopt;
  return windows;
}

struct DepthwiseOperands {
  const float* x = nullptr;
  const float* weights = nullptr;   // [M, 1, k…], row-major
  const float* bias = nullptr;      // or null
  const float* residual = nullptr;  // like y, or null; may be y
  float* y = nullptr;
};
// y = activation(conv(x) + bias + residual)
inline void DepthwiseConv(OpContext& context, const kit::ConvolutionShape& shape, const simd::PlaneWindows& windows,
                          const DepthwiseOperands& o, const Activation& activation) {
  const int64_t filters = shape.filters(), channels = shape.x[1], per_channel = shape.filters_per_group();
  const int64_t in_plane = shape.in_positions(), out_plane = shape.positions(), taps = shape.taps();
  // Number of filters processed together: on adjacent planes, or on one plane.
  const bool small = per_channel == 1 && filters >= simd::kPlanesTogether / 2 && simd::SuitsSmallPlanes(windows);
  constexpr int64_t kFiltersOfOnePlane = 8;
  const int64_t together = small ? simd::kPlanesTogether : std::min(per_channel, kFiltersOfOnePlane);
  const int64_t group = small ? filters : per_channel, parts = (group + together - 1) / together;
  const int64_t blocks = filters / group * parts, grain = (PlaneGrain(windows) + together - 1) / together;
  context.ParallelFor(shape.y[0] * blocks, grain, [&](int64_t begin, int64_t end) {
    const bool apart = o.residual != nullptr;
    const int64_t floats = small ? simd::SmallPlaneScratchFloats(windows) : windows.ScratchFloats();
    std::vector<float> scratch(static_cast<size_t>(floats)), planes;
    if (apart) planes.resize(static_cast<size_t>(together * out_plane));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / blocks, in_group = i % parts * together;
      const int64_t filter = i % blocks / parts * group + in_group;
      const int64_t count = std::min(together, group - in_group);
      const float* const from = o.x + (image * channels + filter / per_channel) * in_plane;
      const float* const weights = o.weights + filter * taps;
      const float* const bias = o.bias == nullptr ? nullptr : o.bias + filter;
      const int64_t at = (image * filters + filter) * out_plane;
      float* const to = o.y + at;
      float* const sums = apart ? planes.data() : to;
      if (small) {
        simd::ConvolveSmallPlanes(windows, weights, bias, from, sums, count, scratch.data());
      } else {
        simd::ConvolvePlane(windows, weights, bias, count, from, sums, scratch.data());
      }
      if (apart)
        for (int64_t k = 0; k < count * out_plane; ++k) to[k] = sums[k] + o.residual[at + k];
      if (activation) ApplyActivation(activation, to, count * out_plane);
    }
  });
}

}  // namespace epiphyte::cpu
