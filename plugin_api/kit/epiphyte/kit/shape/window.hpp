// Window: the attributes that convolutions and pools share, resolved for a shape.
//
//   const auto attributes = kit::WindowAttributes::Read(node);
//   const auto window = kit::Window::OfKernel(attributes, kernel, {x.data() + 2, x.size() - 2});
//   const kit::Dims y = window.OutputDims(x[0], filters);
//   const kit::Taps row = window.TapsInside(0, at, x[2]);   // the kernel's rows that output row `at` reads
//
// Attributes and shapes come from files. Invalid or unsupported values throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

// Throws for an unknown name; "" is NOTSET.
AutoPad AutoPadOf(std::string_view name);

// The attributes as the model has them. Empty lists mean the defaults.
struct WindowAttributes {
  AutoPad auto_pad = AutoPad::kNotSet;
  std::vector<int64_t> kernel, strides, dilations, pads;

  // `Node` is any type with String and Ints: ir::Node, NodeView.
  template <typename Node>
  static WindowAttributes Read(const Node& node) {
    WindowAttributes attributes;
    attributes.auto_pad = AutoPadOf(node.String("auto_pad", "NOTSET"));
    const auto read = [&node](const char* name, std::vector<int64_t>& list) {
      const auto& ints = node.Ints(name);
      list.assign(ints.begin(), ints.end());
    };
    read("kernel_shape", attributes.kernel);
    read("strides", attributes.strides);
    read("dilations", attributes.dilations);
    read("pads", attributes.pads);
    return attributes;
  }
};

// Checks a list attribute: it is empty, or has `size` entries from `least` to 2^31.
void CheckWindowList(std::span<const int64_t> list, size_t size, int64_t least, std::string_view name);

// Checks a list attribute in the same way and returns it; if it is empty, `size` times `fallback`.
Dims WindowList(std::span<const int64_t> list, size_t size, int64_t fallback, int64_t least, std::string_view name);

// The elements of a kernel, along one dimension, that lie inside the input.
struct Taps {
  int64_t skipped;  // kernel elements before the input
  int64_t first;    // input position that the first inside kernel element reads
  int64_t count;    // kernel elements inside the input; the dilation is their distance
};

// A window for one input shape, with one entry for each spatial dimension.
struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end, output;

  // Resolves a window. `kernel` is used if the attributes have no kernel.
  static Window Resolve(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                        std::span<const int64_t> input, bool ceil_mode = false);
  // Resolves a window of a convolution. The kernel comes from the weights; the attributes may only repeat it.
  static Window OfKernel(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                         std::span<const int64_t> input);

  // Shape [batch, channels, output…]. Throws when no memory could hold such a tensor.
  Dims OutputDims(int64_t batch, int64_t channels) const;
  // The padding at the end of dimension `d` that the last output position reads. It differs from pads_end when the
  // strides leave a remainder, and with ceil_mode. Negative: elements of the input that no output reads.
  int64_t PadsEndRead(size_t d, int64_t input) const {
    return (output[d] - 1) * strides[d] + (kernel[d] - 1) * dilations[d] + 1 - input - pads_begin[d];
  }

  // Kernel elements inside the input, for output position `at` along dimension `d` and an input of `size` elements.
  Taps TapsInside(size_t d, int64_t at, int64_t size) const {
    const int64_t start = at * strides[d] - pads_begin[d];
    const int64_t step = dilations[d];
    Taps taps;
    taps.skipped = start < 0 ? (-start + step - 1) / step : 0;
    taps.first = start + taps.skipped * step;
    taps.count = std::max<int64_t>(TapsBefore(size, start, step, kernel[d]) - taps.skipped, 0);
    return taps;
  }
  // Number of kernel elements inside the input and its padding, for averages that count the padding.
  int64_t TapsInPadded(size_t d, int64_t at, int64_t size) const {
    return TapsBefore(size + pads_end[d], at * strides[d] - pads_begin[d], dilations[d], kernel[d]);
  }

 private:
  // Number of the first `taps` positions from `start`, `step` apart, that lie before `end`.
  static int64_t TapsBefore(int64_t end, int64_t start, int64_t step, int64_t taps) {
    return start >= end ? 0 : std::min(taps, (end - 1 - start) / step + 1);
  }
};

}  // namespace epiphyte::kit
