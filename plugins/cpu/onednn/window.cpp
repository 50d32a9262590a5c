#include "plugins/cpu/onednn/window.h"

#include <algorithm>

#include "plugins/cpu/kernel/broadcast.h"
#include "plugins/cpu/kernel/move.h"

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

bool WindowAttributes::SuitsOneDnn() const {
  constexpr int64_t kMost = INT16_MAX;
  const auto suits = [](int64_t number) { return number >= -kMost && number <= kMost; };
  for (const std::vector<int64_t>* list : {&kernel, &strides, &dilations, &pads})
    if (!std::all_of(list->begin(), list->end(), suits)) return false;
  return true;
}

Window Window::OfKernel(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                        std::span<const int64_t> input) {
  if (!attributes.kernel.empty() &&
      !std::equal(kernel.begin(), kernel.end(), attributes.kernel.begin(), attributes.kernel.end()))
    FailOp("kernel_shape is {}, the weights have {}", ShapeText(attributes.kernel), ShapeText(kernel));
  for (int64_t size : kernel)
    if (size < 1)
      FailOp("the weights have a kernel of {}; at least one element in each dimension expected", ShapeText(kernel));
  return Resolve(attributes, kernel, input);
}

Dims Window::OutputDims(int64_t batch, int64_t channels) const {
  Dims dims{batch, channels};
  for (int64_t size : output) dims.push_back(size);
  CheckedCount(dims);
  return dims;
}

Window Window::Resolve(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                       std::span<const int64_t> input, bool ceil_mode) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const size_t spatial = input.size();
  const auto check = [&](const std::vector<int64_t>& list, size_t size, int64_t least, const char* name) {
    if (list.empty()) return;
    if (list.size() != size) FailOp("{} has {} entries; {} expected for this input", name, list.size(), size);
    for (int64_t item : list)
      if (item < least || item > kMost) FailOp("{} has an entry of {}; {} to {} expected", name, item, least, kMost);
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
    const int64_t extent = CheckedAdd(CheckedMultiply(kernel[i] - 1, dilation), 1);
    int64_t begin = 0;
    int64_t end = 0;
    int64_t output = 0;
    if (attributes.auto_pad == AutoPad::kSameUpper || attributes.auto_pad == AutoPad::kSameLower) {
      output = CheckedAdd(input[i], stride - 1) / stride;
      const int64_t total = std::max<int64_t>(CheckedAdd((output - 1) * stride, extent) - input[i], 0);
      begin = attributes.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      end = total - begin;
    } else {
      if (attributes.auto_pad == AutoPad::kNotSet && !attributes.pads.empty()) {
        begin = attributes.pads[i];
        end = attributes.pads[i + spatial];
      }
      const int64_t room = CheckedAdd(CheckedAdd(input[i], begin + end), -extent);
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
