// Windows that slide over row-major planes of floats: pools and depthwise convolutions. For tensors that are row-major
// and have a row-major result, without a detour through another layout.
//
//     const PlaneWindows windows{.in_height = 112, .in_width = 112, .out_height = 56, .out_width = 56,
//                                .kernel_height = 3, .kernel_width = 3, .stride_y = 2, .stride_x = 2,
//                                .pad_top = 1, .pad_left = 1};
//     std::vector<float> scratch(windows.ScratchFloats());
//     LargestOfWindows(windows, x, y, planes, scratch.data());
//
// Taps outside the plane don't count; all taps of a window may be outside.
#pragma once

#include <algorithm>
#include <cstdint>

namespace epiphyte::cpu::simd {

struct PlaneWindows {
  static constexpr int64_t kMostTaps = 1024;  // taps of a kernel

  int64_t in_height = 0, in_width = 0, out_height = 0, out_width = 0;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t dilation_y = 1, dilation_x = 1;
  int64_t pad_top = 0, pad_left = 0;

  // Scratch memory holds rows with their padding, in `stride_x` parts. Each part has every stride_x-th column, so that
  // the values of a tap for neighbouring windows are adjacent.
  int64_t PartFloats() const { return (out_width + 15) / 16 * 16 + (kernel_width - 1) * dilation_x / stride_x + 1; }
  int64_t RowFloats() const { return stride_x * PartFloats(); }
  // Rows of windows that are processed together: as many as have an input that fits the first-level cache.
  int64_t BandHeight() const {
    constexpr int64_t kRowsFloats = 6 << 10;
    const int64_t rows = kRowsFloats / RowFloats() - (kernel_height - 1) * dilation_y;
    return std::clamp<int64_t>((rows - 1) / stride_y + 1, std::min<int64_t>(4, out_height), out_height);
  }
  int64_t BandRows() const { return (BandHeight() - 1) * stride_y + (kernel_height - 1) * dilation_y + 1; }
  // The last term is room for a row of the plane.
  int64_t ScratchFloats() const { return BandRows() * RowFloats() + in_width; }
};

// The rows of the plane that row `at` of windows sees; the first of them belongs to tap `skipped`.
struct TapRows {
  TapRows(const PlaneWindows& w, int64_t at) {
    const int64_t start = at * w.stride_y - w.pad_top, step = w.dilation_y;
    const auto steps = [step](int64_t distance) { return step == 1 ? distance : distance / step; };
    skipped = start < 0 ? std::min(steps(-start + step - 1), w.kernel_height) : 0;
    first = start + skipped * step;
    const int64_t inside = first >= w.in_height ? 0 : steps(w.in_height - 1 - first) + 1;
    count = std::min(inside, w.kernel_height - skipped);
  }
  int64_t skipped, first, count;
};

// y has out_height x out_width results for each plane. Planes are contiguous in x and in y. A window without a tap
// inside gives -infinity, and one with a NaN gives NaN.
void LargestOfWindows(const PlaneWindows& windows, const float* x, float* y, int64_t planes, float* scratch);

// Sums of windows divided by row_counts[row] * column_counts[column].
void AverageOfWindows(const PlaneWindows& windows, const float* x, const float* row_counts, const float* column_counts,
                      float* y, int64_t planes, float* scratch);

// Convolves one plane with several kernels: the sum of a kernel's weights times their taps, plus the bias. Weights,
// results and biases of the kernels are contiguous; biases may be null. Terms are added in the order of the weights,
// with fused multiply-add where the CPU has it.
void ConvolvePlane(const PlaneWindows& windows, const float* weights, const float* biases, int64_t kernels,
                   const float* x, float* y, float* scratch);

}  // namespace epiphyte::cpu::simd
