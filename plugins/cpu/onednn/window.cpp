#include "plugins/cpu/onednn/window.h"

#include <algorithm>

namespace epiphyte::cpu {

WindowAttributes WindowAttributes::Read(const NodeDef& node) {
  WindowAttributes attributes;
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER") {
    attributes.auto_pad = AutoPad::kSameUpper;
  } else if (auto_pad == "SAME_LOWER") {
    attributes.auto_pad = AutoPad::kSameLower;
  } else if (auto_pad == "VALID") {
    attributes.auto_pad = AutoPad::kValid;
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    FailOp("auto_pad is '{}'; NOTSET, SAME_UPPER, SAME_LOWER or VALID expected", auto_pad);
  }
  attributes.kernel = node.Ints("kernel_shape");
  attributes.strides = node.Ints("strides");
  attributes.dilations = node.Ints("dilations");
  attributes.pads = node.Ints("pads");
  return attributes;
}

Window Window::Resolve(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                       std::span<const int64_t> input, bool ceil_mode) {
  const size_t spatial = input.size();
  const auto check = [&](const std::vector<int64_t>& list, size_t size, int64_t least, const char* name) {
    if (list.empty()) return;
    if (list.size() != size) FailOp("{} has {} entries; {} expected for this input", name, list.size(), size);
    for (int64_t item : list)
      if (item < least || item > (int64_t{1} << 31))
        FailOp("{} has an entry of {}; at least {} expected", name, item, least);
  };
  check(attributes.kernel, spatial, 1, "kernel_shape");
  check(attributes.strides, spatial, 1, "strides");
  check(attributes.dilations, spatial, 1, "dilations");
  check(attributes.pads, spatial * 2, INT32_MIN, "pads");
  if (!attributes.kernel.empty()) kernel = attributes.kernel;
  if (kernel.size() != spatial) FailOp("a kernel of rank {} for {} spatial dimensions", kernel.size(), spatial);

  Window window;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = attributes.strides.empty() ? 1 : attributes.strides[i];
    const int64_t dilation = attributes.dilations.empty() ? 1 : attributes.dilations[i];
    const int64_t extent = (kernel[i] - 1) * dilation + 1;
    int64_t begin = 0;
    int64_t end = 0;
    int64_t output = 0;
    if (attributes.auto_pad == AutoPad::kSameUpper || attributes.auto_pad == AutoPad::kSameLower) {
      output = (input[i] + stride - 1) / stride;
      const int64_t total = std::max<int64_t>((output - 1) * stride + extent - input[i], 0);
      begin = attributes.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      end = total - begin;
    } else {
      if (attributes.auto_pad == AutoPad::kNotSet && !attributes.pads.empty()) {
        begin = attributes.pads[i];
        end = attributes.pads[i + spatial];
      }
      const int64_t room = input[i] + begin + end - extent;
      if (room < 0)
        FailOp("a kernel of extent {} does not fit into {} elements with {} and {} of padding", extent, input[i], begin,
               end);
      output = (ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
      // A window that would start in the padding after the input is left out.
      if (ceil_mode && (output - 1) * stride >= input[i] + begin) --output;
    }
    window.kernel.push_back(kernel[i]);
    window.strides.push_back(stride);
    window.dilations.push_back(dilation);
    window.pads_begin.push_back(begin);
    window.pads_end.push_back(end);
    window.output.push_back(output);
  }
  return window;
}

}  // namespace epiphyte::cpu
