// Windows of a pool or convolution for simd/window/plane_windows.h: one or two dimensions, limited by the size of its
// scratch memory.
#pragma once

#include <algorithm>
#include <optional>

#include "epiphyte/kit/shape/window.hpp"
#include "plugins/cpu/simd/window/plane_windows.h"

namespace epiphyte::cpu {

// Windows for an input [N, C, d…]; nullopt when they are not supported.
inline std::optional<simd::PlaneWindows> PlaneWindowsOf(const kit::Window& window, const kit::Dims& x) {
  const size_t spatial = window.kernel.size();
  if (spatial < 1 || spatial > 2 || x.Count() == 0) return std::nullopt;
  constexpr int64_t kMost = simd::PlaneWindows::kMostTaps, kMostColumns = int64_t{1} << 16;
  for (size_t i = 0; i < spatial; ++i) {
    if (window.pads_begin[i] < 0 || window.pads_begin[i] > kMost || window.strides[i] > kMost || window.output[i] < 1 ||
        window.kernel[i] > kMost || window.dilations[i] > kMost || (window.kernel[i] - 1) * window.dilations[i] > kMost)
      return std::nullopt;
  }
  simd::PlaneWindows windows;
  const size_t last = spatial - 1;
  windows.in_width = x[last + 2];
  windows.out_width = window.output[last];
  windows.kernel_width = window.kernel[last];
  windows.stride_x = window.strides[last];
  windows.dilation_x = window.dilations[last];
  windows.pad_left = window.pads_begin[last];
  windows.in_height = windows.out_height = 1;
  if (spatial == 2) {
    windows.in_height = x[2];
    windows.out_height = window.output[0];
    windows.kernel_height = window.kernel[0];
    windows.stride_y = window.strides[0];
    windows.dilation_y = window.dilations[0];
    windows.pad_top = window.pads_begin[0];
  }
  if (windows.kernel_height * windows.kernel_width > kMost || windows.out_width > kMostColumns ||
      windows.in_width > kMostColumns || windows.RowFloats() > kMostColumns)
    return std::nullopt;
  return windows;
}

// Number of planes that are worth a thread.
inline int64_t PlaneGrain(const simd::PlaneWindows& windows) {
  constexpr int64_t kShareSteps = 32768;
  const int64_t steps = windows.out_height * windows.out_width * windows.kernel_height * windows.kernel_width;
  return std::max<int64_t>(1, kShareSteps / std::max<int64_t>(1, steps));
}

}  // namespace epiphyte::cpu
