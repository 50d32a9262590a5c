// Convolutions whose filters each see one channel, of row-major floats, which stay so: where oneDNN would reorder its
// input and its result, which takes longer than the sums.
#pragma once

#include <optional>
#include <vector>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/ops/nn/plane_windows.h"

namespace epiphyte::cpu {

// Nullopt when the convolution is of another kind.
inline std::optional<simd::PlaneWindows> DepthwiseWindowsOf(const kit::ConvolutionShape& shape) {
  if (shape.in_per_group() != 1 || shape.y.Count() == 0 || shape.w.Count() == 0) return std::nullopt;
  return PlaneWindowsOf(shape.window, shape.x);
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
  context.ParallelFor(shape.y[0] * filters, PlaneGrain(windows), [&](int64_t begin, int64_t end) {
    const bool apart = o.residual != nullptr;
    std::vector<float> scratch(static_cast<size_t>(windows.ScratchFloats())), plane;
    if (apart) plane.resize(static_cast<size_t>(out_plane));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t filter = i % filters;
      const float* const from = o.x + (i / filters * channels + filter / per_channel) * in_plane;
      float* const to = o.y + i * out_plane;
      float* const sums = apart ? plane.data() : to;
      simd::ConvolvePlane(windows, o.weights + filter * taps, o.bias == nullptr ? 0.0f : o.bias[filter], from, sums,
                          scratch.data());
      if (apart)
        for (int64_t k = 0; k < out_plane; ++k) to[k] = sums[k] + o.residual[i * out_plane + k];
      if (activation) ApplyActivation(activation, to, out_plane);
    }
  });
}

}  // namespace epiphyte::cpu
