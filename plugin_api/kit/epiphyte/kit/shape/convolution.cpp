#include "epiphyte/kit/shape/convolution.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::kit {
namespace {

void CheckRanks(const Dims& x, const Dims& w) {
  if (x.size() < 3 || w.size() != x.size())
    FailArgument("input of rank ", x.size(), " and weights of rank ", w.size(), "; equal ranks of at least 3 expected");
  CheckedCount(x);
  CheckedCount(w);
}

}  // namespace

int64_t CheckedGroup(int64_t group) {
  if (group < 1) FailArgument("group is ", group, "; at least 1 expected");
  return group;
}

ConvolutionShape::ConvolutionShape(const WindowAttributes& attributes, const Dims& x_dims, const Dims& w_dims,
                                   int64_t group_count)
    : x(x_dims), w(w_dims), group(CheckedGroup(group_count)) {
  CheckRanks(x, w);
  // Compares quotients, because the product of w[1] and the groups may overflow.
  if (x[1] % group != 0 || x[1] / group != w[1] || w[0] % group != 0)
    FailArgument(x[1], " input channels, ", group, " groups and weights for ", w[0], " x ", w[1],
                 " channels don't fit together");
  window = Window::OfKernel(attributes, {w.data() + 2, w.size() - 2}, {x.data() + 2, x.size() - 2});
  y = window.OutputDims(x[0], w[0]);
}

TransposedConvolutionShape::TransposedConvolutionShape(const TransposedConvolutionAttributes& attributes,
                                                       const Dims& x_dims, const Dims& w_dims)
    : x(x_dims), w(w_dims) {
  CheckRanks(x, w);
  if (x[1] != w[0] || w[0] % CheckedGroup(attributes.group) != 0)
    FailArgument(x[1], " input channels, ", attributes.group, " groups and weights for ", w[0],
                 " input channels don't fit together");
  const size_t spatial = x.size() - 2;
  const WindowAttributes& window = attributes.window;
  CheckWindowList(window.kernel, spatial, 1, "kernel_shape");
  CheckWindowList(window.strides, spatial, 1, "strides");
  CheckWindowList(window.dilations, spatial, 1, "dilations");
  CheckWindowList(window.pads, spatial * 2, INT32_MIN, "pads");
  CheckWindowList(attributes.output_padding, spatial, 0, "output_padding");
  // Some models give the whole output shape, with batch and channels.
  std::span<const int64_t> wanted = attributes.output_shape;
  if (wanted.size() == spatial + 2) wanted = wanted.subspan(2);
  CheckWindowList(wanted, spatial, 0, "output_shape");
  y = {x[0], CheckedMultiply(w[1], attributes.group)};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = window.strides.empty() ? 1 : window.strides[i];
    const int64_t dilation = window.dilations.empty() ? 1 : window.dilations[i];
    const int64_t added = attributes.output_padding.empty() ? 0 : attributes.output_padding[i];
    if (!window.kernel.empty() && window.kernel[i] != w[i + 2])
      FailArgument("kernel_shape differs from the weights' shape");
    if (w[i + 2] < 1) FailArgument("a kernel without elements");
    const int64_t extent = CheckedAdd(CheckedMultiply(w[i + 2] - 1, dilation), 1);
    // Extent that all kernels cover together, plus the output padding.
    const int64_t full = CheckedAdd(CheckedMultiply(x[i + 2] - 1, stride), CheckedAdd(extent, added));
    int64_t begin = 0;
    int64_t output = 0;
    const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
    if (!wanted.empty() || same) {
      const int64_t goal = wanted.empty() ? CheckedMultiply(x[i + 2], stride) : wanted[i];
      const int64_t total = std::max<int64_t>(full - goal, 0);
      begin = window.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      output = wanted.empty() ? full - total : goal;
    } else {
      const bool padded = window.auto_pad == AutoPad::kNotSet && !window.pads.empty();
      begin = padded ? window.pads[i] : 0;
      output = CheckedAdd(full, -begin - (padded ? window.pads[i + spatial] : 0));
    }
    if (output < 0) FailArgument(x[i + 2], " elements and a kernel of extent ", extent, " leave an output of ", output);
    CheckedCount(Dims{output});  // limits sizes, so that no later sum overflows
    strides.push_back(stride);
    dilations.push_back(dilation);
    pads_begin.push_back(begin);
    pads_end.push_back(full - added - begin - output);
    y.push_back(output);
  }
  CheckedCount(y);
}

}  // namespace epiphyte::kit
