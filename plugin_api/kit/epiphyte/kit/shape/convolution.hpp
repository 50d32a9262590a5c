// The shapes of convolutions, forward and transposed.
//
//   const kit::ConvolutionShape shape(attributes, x, w, kit::CheckedGroup(node.Int("group", 1)));
//   shape.y;                // [N, M, d…]
//   shape.in_per_group();   // input channels that one filter reads
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT) when the shapes don't fit together.
#pragma once

#include <cstdint>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/window.hpp"

namespace epiphyte::kit {

// The attribute, which must be at least 1.
int64_t CheckedGroup(int64_t group);

// Input [N, C, d…] and weights [M, C/group, k…].
struct ConvolutionShape {
  Dims x, w, y;
  Window window;
  int64_t group = 1;

  ConvolutionShape() = default;
  ConvolutionShape(const WindowAttributes& attributes, const Dims& x, const Dims& w, int64_t group);

  size_t spatial() const { return x.size() - 2; }
  int64_t filters() const { return w[0]; }
  int64_t filters_per_group() const { return w[0] / group; }
  int64_t in_per_group() const { return w[1]; }
  int64_t taps() const { return w.Count(2, w.size()); }          // of the kernel, for one channel
  int64_t in_positions() const { return x.Count(2, x.size()); }  // elements of a plane of the input
  int64_t positions() const { return y.Count(2, y.size()); }     // and of the output
};

// As in the model.
struct TransposedConvolutionAttributes {
  WindowAttributes window;
  std::vector<int64_t> output_padding, output_shape;
  int64_t group = 1;

  // A node is anything that has String, Ints and Int: ir::Node, NodeView.
  template <typename Node>
  static TransposedConvolutionAttributes Read(const Node& node) {
    TransposedConvolutionAttributes attributes;
    attributes.window = WindowAttributes::Read(node);
    const auto& padding = node.Ints("output_padding");
    attributes.output_padding.assign(padding.begin(), padding.end());
    const auto& shape = node.Ints("output_shape");
    attributes.output_shape.assign(shape.begin(), shape.end());
    attributes.group = CheckedGroup(node.Int("group", 1));
    return attributes;
  }
};

// Input [N, C, d…] and weights [C, M/group, k…]. Every input element adds its kernel to the output.
struct TransposedConvolutionShape {
  Dims x, w, y;
  Dims strides, dilations, pads_begin;
  Dims pads_end;  // so that the sizes add up; below 0 where output is added

  TransposedConvolutionShape() = default;
  TransposedConvolutionShape(const TransposedConvolutionAttributes& attributes, const Dims& x, const Dims& w);
};

}  // namespace epiphyte::kit
