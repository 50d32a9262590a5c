// ConvolutionShape: the shapes of convolutions, forward and transposed.
//
//   const kit::ConvolutionShape shape(attributes, x, w, kit::CheckedGroup(node.Int("group", 1)));
//   shape.y;                // [N, M, d…]
//   shape.in_per_group();   // input channels that one filter reads
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT) when the shapes do not fit together.
#pragma once

#include <cstdint>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/window.hpp"

namespace epiphyte::kit {

// The attribute `group`; throws when it is below 1.
int64_t CheckedGroup(int64_t group);

// The shape of a convolution of an input [N, C, d…] with weights [M, C/group, k…].
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
  int64_t taps() const { return w.Count(2, w.size()); }          // elements of the kernel for one channel
  int64_t in_positions() const { return x.Count(2, x.size()); }  // elements of one input plane
  int64_t positions() const { return y.Count(2, y.size()); }     // elements of one output plane
};

// The attributes as the model has them.
struct TransposedConvolutionAttributes {
  WindowAttributes window;
  std::vector<int64_t> output_padding, output_shape;
  int64_t group = 1;

  // `Node` is any type with String, Ints and Int: ir::Node, NodeView.
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

// The shape of a transposed convolution of an input [N, C, d…] with weights [C, M/group, k…]. Every input element adds
// its kernel to the output.
struct TransposedConvolutionShape {
  Dims x, w, y;
  Dims strides, dilations, pads_begin;
  Dims pads_end;  // derived so that the sizes add up; negative where output is added

  TransposedConvolutionShape() = default;
  TransposedConvolutionShape(const TransposedConvolutionAttributes& attributes, const Dims& x, const Dims& w);
};

}  // namespace epiphyte::kit
