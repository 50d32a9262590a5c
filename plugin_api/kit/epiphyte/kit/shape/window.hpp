// Window: the attributes that convolutions and pools share, resolved against a shape.
//
//   const auto attributes = kit::WindowAttributes::Read(node);
//   const auto window = kit::Window::OfKernel(attributes, kernel, {x.data() + 2, x.size() - 2});
//   const kit::Dims y = window.OutputDims(x[0], filters);
//   const kit::Taps row = window.TapsInside(0, at, x[2]);   // which of the kernel's rows output row `at` reads
//
// Attributes and shapes come from files: what makes no sense, or can't be computed with, is
// Error(EP_STATUS_INVALID_ARGUMENT).
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

// "" is NOTSET.
AutoPad AutoPadOf(std::string_view name);

// As in the model. Empty lists mean the defaults.
struct WindowAttributes {
  AutoPad auto_pad = AutoPad::kNotSet;
  std::vector<int64_t> kernel, strides, dilations, pads;

  // A node is anything that has String and Ints: ir::Node, NodeView.
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

// What attributes of windows may be: `list` has `size` entries from `least` to 2^31, or none.
void CheckWindowList(std::span<const int64_t> list, size_t size, int64_t least, std::string_view name);

// Such a list, or where there is none `fallback` for each.
Dims WindowList(std::span<const int64_t> list, size_t size, int64_t fallback, int64_t least, std::string_view name);

// The taps of a kernel, along one dimension, that lie inside the input.
struct Taps {
  int64_t skipped;  // taps that lie before the input
  int64_t first;    // where in the input the first tap inside reads
  int64_t count;    // taps inside; they are a dilation apart
};

// For one input shape: as many entries as there are spatial dimensions.
struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end, output;

  // `kernel` from the attributes or, if they have none, as given.
  static Window Resolve(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                        std::span<const int64_t> input, bool ceil_mode = false);
  // For a convolution: the kernel is that of the weights, which the attributes may only repeat.
  static Window OfKernel(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                         std::span<const int64_t> input);

  // [batch, channels, output…]; throws when no memory could hold such a tensor.
  Dims OutputDims(int64_t batch, int64_t channels) const;
  // The padding behind the input that the last output reads in dimension `d`: other than pads_end where strides leave
  // something over, and with ceil_mode. Below 0: elements that nothing reads.
  int64_t PadsEndRead(size_t d, int64_t input) const {
    return (output[d] - 1) * strides[d] + (kernel[d] - 1) * dilations[d] + 1 - input - pads_begin[d];
  }

  // For position `at` of the output along dimension `d`, over an input of `size` elements.
  Taps TapsInside(size_t d, int64_t at, int64_t size) const {
    const int64_t start = at * strides[d] - pads_begin[d];
    const int64_t step = dilations[d];
    Taps taps;
    taps.skipped = start < 0 ? (-start + step - 1) / step : 0;
    taps.first = start + taps.skipped * step;
    taps.count = std::max<int64_t>(TapsBefore(size, start, step, kernel[d]) - taps.skipped, 0);
    return taps;
  }
  // The taps inside the input and its padding, as averages that count the padding have them.
  int64_t TapsInPadded(size_t d, int64_t at, int64_t size) const {
    return TapsBefore(size + pads_end[d], at * strides[d] - pads_begin[d], dilations[d], kernel[d]);
  }

 private:
  // How many of `taps` taps, `step` apart from `start` on, lie before `end`.
  static int64_t TapsBefore(int64_t end, int64_t start, int64_t step, int64_t taps) {
    return start >= end ? 0 : std::min(taps, (end - 1 - start) / step + 1);
  }
};

}  // namespace epiphyte::kit
