// Window: the attributes that convolutions and pools share, resolved against a shape.
#pragma once

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

enum class AutoPad { kNotSet, kSameUpper, kSameLower, kValid };

// As in the model. Empty lists mean the defaults.
struct WindowAttributes {
  AutoPad auto_pad = AutoPad::kNotSet;
  std::vector<int64_t> kernel, strides, dilations, pads;

  static WindowAttributes Read(const NodeDef& node);
  // Numbers that oneDNN is made for: it computes positions in 32 bits, and its code grows with some of them.
  bool SuitsOneDnn() const;
};

// For one input shape: `spatial` entries each.
struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end, output;

  // `kernel` from the attributes or, if they have none, as given. Throws when sizes make no sense, or can't be
  // computed with.
  static Window Resolve(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                        std::span<const int64_t> input, bool ceil_mode = false);
  // For a convolution: the kernel is that of the weights, which the attributes may only repeat.
  static Window OfKernel(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                         std::span<const int64_t> input);

  // [batch, channels, output…]; throws when no memory could hold such a tensor.
  Dims OutputDims(int64_t batch, int64_t channels) const;
};

}  // namespace epiphyte::cpu
