#include "epiphyte/kit/shape/window.hpp"

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::kit {

AutoPad AutoPadOf(std::string_view name) {
  if (name == "NOTSET" || name.empty()) return AutoPad::kNotSet;
  if (name == "SAME_UPPER") return AutoPad::kSameUpper;
  if (name == "SAME_LOWER") return AutoPad::kSameLower;
  if (name == "VALID") return AutoPad::kValid;
  FailArgument("auto_pad is '", name.substr(0, 64), "'; NOTSET, SAME_UPPER, SAME_LOWER or VALID expected");
}

void CheckWindowList(std::span<const int64_t> list, size_t size, int64_t least, std::string_view name) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (list.empty()) return;
  if (list.size() != size) FailArgument(name, " has ", list.size(), " entries; ", size, " expected for this input");
  for (const int64_t item : list)
    if (item < least || item > kMost)
      FailArgument(name, " has an entry of ", item, "; ", least, " to ", kMost, " expected");
}

Dims WindowList(std::span<const int64_t> list, size_t size, int64_t fallback, int64_t least, std::string_view name) {
  CheckWindowList(list, size, least, name);
  return list.empty() ? Dims(size, fallback) : Dims(list);
}

Window Window::OfKernel(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                        std::span<const int64_t> input) {
  if (!attributes.kernel.empty() &&
      !std::equal(kernel.begin(), kernel.end(), attributes.kernel.begin(), attributes.kernel.end()))
    FailArgument("kernel_shape is ", ShapeText(attributes.kernel), ", the weights have ", ShapeText(kernel));
  for (const int64_t size : kernel)
    if (size < 1)
      FailArgument("the weights have a kernel of ", ShapeText(kernel),
                   "; at least one element in each dimension expected");
  return Resolve(attributes, kernel, input);
}

Dims Window::OutputDims(int64_t batch, int64_t channels) const {
  Dims dims{batch, channels};
  for (const int64_t size : output) dims.push_back(size);
  CheckedCount(dims);
  return dims;
}

Window Window::Resolve(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                       std::span<const int64_t> input, bool ceil_mode) {
  const size_t spatial = input.size();
  CheckWindowList(attributes.kernel, spatial, 1, "kernel_shape");
  CheckWindowList(attributes.strides, spatial, 1, "strides");
  CheckWindowList(attributes.dilations, spatial, 1, "dilations");
  CheckWindowList(attributes.pads, spatial * 2, INT32_MIN, "pads");
  if (!attributes.kernel.empty()) kernel = attributes.kernel;
  if (kernel.size() != spatial)
    FailArgument("a kernel of rank ", kernel.size(), " for ", spatial, " spatial dimensions");

  Window window;
  for (size_t i = 0; i < spatial; ++i) {
    if (input[i] < 0) FailArgument("an input of ", ShapeText(input), "; dimensions of at least 0 expected");
    if (kernel[i] < 0) FailArgument("a kernel of ", ShapeText(kernel), "; sizes of at least 0 expected");
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
        FailArgument("a kernel of extent ", extent, " does not fit into ", input[i], " elements with ", begin, " and ",
                     end, " of padding");
      output = (ceil_mode ? CheckedAdd(room, stride - 1) / stride : room / stride) + 1;
      // Drops a window that would start in the padding after the input.
      if (ceil_mode && (output - 1) * stride >= CheckedAdd(input[i], begin)) --output;
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

}  // namespace epiphyte::kit
