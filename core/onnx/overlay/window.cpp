// Inference of operators that slide a window or sample a grid: convolution, pooling, GridSample, AffineGrid, DFT.
#include <algorithm>

#include "core/onnx/infer/node_inference.h"
#include "core/onnx/overlay/overlay_inference.h"

namespace epiphyte::core {
namespace {

// A spatial attribute with one number for each axis.
std::vector<int64_t> Spatial(const NodeInference& node, std::string_view name, size_t count, int64_t fallback) {
  std::vector<int64_t> values = node.Ints(name, std::vector<int64_t>(count, fallback));
  if (values.empty()) values.assign(count, fallback);
  if (values.size() != count) node.Reject("attribute '{}' has {} numbers, {} expected", name, values.size(), count);
  return values;
}

constexpr int64_t kReasonable = int64_t{1} << 40;

bool AllReasonable(const std::vector<int64_t>& values) {
  for (const int64_t value : values) {
    if (value < 0 || value > kReasonable) return false;
  }
  return true;
}

// Sizes of the spatial axes after sliding a window of size `kernel` over `input`.
Shape WindowOutput(const NodeInference& node, const Shape& input, const std::vector<int64_t>& kernel) {
  const size_t count = kernel.size();
  const std::vector<int64_t> strides = Spatial(node, "strides", count, 1);
  const std::vector<int64_t> dilations = Spatial(node, "dilations", count, 1);
  const std::vector<int64_t> pads = Spatial(node, "pads", 2 * count, 0);
  const std::string auto_pad = node.node().StringAttribute("auto_pad", "NOTSET");
  const bool ceil_mode = node.node().IntAttribute("ceil_mode", 0) != 0;
  Shape output(count);
  if (!AllReasonable(strides) || !AllReasonable(dilations) || !AllReasonable(pads)) return output;
  for (size_t i = 0; i < count; ++i) {
    const Dim& dim = input[i + 2];
    const int64_t stride = strides[i];
    if (stride == 0) node.Reject("attribute 'strides' has a 0");
    if (!dim.known() || dim.value > kReasonable || kernel[i] < 0 || kernel[i] > kReasonable) continue;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      output[i] = Dim((dim.value + stride - 1) / stride);
      continue;
    }
    const int64_t begin = auto_pad == "VALID" ? 0 : pads[i];
    const int64_t end = auto_pad == "VALID" ? 0 : pads[i + count];
    if (kernel[i] > 0 && dilations[i] > kReasonable / kernel[i]) continue;
    const int64_t room = dim.value + begin + end - ((kernel[i] - 1) * dilations[i] + 1);
    if (room < 0) {
      node.Reject("the window of {} does not fit into the padded size {} of axis {}",
                  (kernel[i] - 1) * dilations[i] + 1, dim.value + begin + end, i + 2);
    }
    int64_t steps = (ceil_mode ? room + stride - 1 : room) / stride + 1;
    // A window that starts in the padding at the end is dropped.
    if (ceil_mode && (steps - 1) * stride >= dim.value + begin) --steps;
    output[i] = Dim(steps);
  }
  return output;
}

// The window sizes, from the attribute or the weights; -1 if unknown.
std::vector<int64_t> KernelOf(const NodeInference& node, const Shape& input, const Shape& weights) {
  if (input.size() < 3 || weights.size() != input.size()) {
    node.Reject("input and weights of rank {} and {}, the same rank of 3 or more expected", input.size(),
                weights.size());
  }
  std::vector<int64_t> kernel = node.Ints("kernel_shape");
  if (kernel.empty()) {
    for (size_t i = 2; i < weights.size(); ++i) kernel.push_back(weights[i].value);
  }
  if (kernel.size() + 2 != input.size()) {
    node.Reject("attribute 'kernel_shape' has {} numbers, {} expected", kernel.size(), input.size() - 2);
  }
  return kernel;
}

std::optional<Shape> ConvOutput(const NodeInference& node, size_t weights_input) {
  const Shape* input = node.shape(0);
  const Shape* weights = node.shape(weights_input);
  if (input == nullptr || weights == nullptr) return std::nullopt;
  const std::vector<int64_t> kernel = KernelOf(node, *input, *weights);
  Shape output = {(*input)[0], (*weights)[0]};
  const Dim& channels = (*input)[1];
  const Dim& per_group = (*weights)[1];
  const int64_t group = node.node().IntAttribute("group", 1);
  int64_t expected = 0;
  if (channels.known() && per_group.known() &&
      (__builtin_mul_overflow(per_group.value, group, &expected) || expected != channels.value)) {
    node.Reject("input has {} channels, weights are for {} in each of {} groups", channels.value, per_group.value,
                group);
  }
  for (Dim& dim : WindowOutput(node, *input, kernel)) output.push_back(std::move(dim));
  return output;
}

}  // namespace

void InferPool(NodeInference& node) {
  const Shape* input = node.shape(0);
  const std::vector<int64_t> kernel = node.Ints("kernel_shape");
  if (input == nullptr) {
    node.SetTensor(0, node.element(0), std::nullopt);
    return node.SetTensor(1, DataType::kInt64, std::nullopt);
  }
  if (input->size() != kernel.size() + 2) {
    node.Reject("input of rank {}, {} expected for a window of {} axes", input->size(), kernel.size() + 2,
                kernel.size());
  }
  Shape output = {(*input)[0], (*input)[1]};
  for (Dim& dim : WindowOutput(node, *input, kernel)) output.push_back(std::move(dim));
  node.SetTensor(1, DataType::kInt64, output);  // indices output of MaxPool
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferConv(NodeInference& node) { node.SetTensor(0, node.element(0), ConvOutput(node, 1)); }
void InferConvInteger(NodeInference& node) { node.SetTensor(0, DataType::kInt32, ConvOutput(node, 1)); }
void InferQLinearConv(NodeInference& node) { node.SetTensor(0, node.element(7), ConvOutput(node, 3)); }

void InferConvTranspose(NodeInference& node) {
  const Shape* input = node.shape(0);
  const Shape* weights = node.shape(1);
  if (input == nullptr || weights == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  const std::vector<int64_t> kernel = KernelOf(node, *input, *weights);
  const size_t count = kernel.size();
  const std::vector<int64_t> strides = Spatial(node, "strides", count, 1);
  const std::vector<int64_t> dilations = Spatial(node, "dilations", count, 1);
  const std::vector<int64_t> pads = Spatial(node, "pads", 2 * count, 0);
  const std::vector<int64_t> extra = Spatial(node, "output_padding", count, 0);
  std::vector<int64_t> asked = node.Ints("output_shape");
  if (asked.size() == count + 2) asked.erase(asked.begin(), asked.begin() + 2);  // some exporters write the full shape
  if (!asked.empty() && asked.size() != count) {
    node.Reject("attribute 'output_shape' has {} numbers, {} expected", asked.size(), count);
  }
  const std::string auto_pad = node.node().StringAttribute("auto_pad", "NOTSET");
  const int64_t group = node.node().IntAttribute("group", 1);
  Shape output = {(*input)[0], MulDims((*weights)[1], Dim(std::max<int64_t>(group, 1)))};
  for (size_t i = 0; i < count; ++i) {
    const Dim& dim = (*input)[i + 2];
    Dim& size = output.emplace_back();
    if (!asked.empty()) {
      if (asked[i] >= 0) size = Dim(asked[i]);
      continue;
    }
    const bool reasonable = kernel[i] >= 0 && AllReasonable({strides[i], dilations[i], extra[i]}) &&
                            AllReasonable({pads[i], pads[i + count]}) && dim.known() && dim.value <= kReasonable;
    if (!reasonable) continue;
    int64_t end = 0, window = 0;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      if (!__builtin_mul_overflow(dim.value, strides[i], &end)) size = Dim(end);
      continue;
    }
    const bool overflow = __builtin_mul_overflow(dim.value - 1, strides[i], &end) ||
                          __builtin_mul_overflow(kernel[i] - 1, dilations[i], &window) ||
                          __builtin_add_overflow(end, window, &end);
    if (overflow || end > kReasonable) continue;
    const int64_t cut = auto_pad == "VALID" ? 0 : pads[i] + pads[i + count];
    const int64_t result = end + 1 + extra[i] - cut;
    if (result >= 0) size = Dim(result);
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferMaxUnpool(NodeInference& node) {
  const Shape* input = node.shape(0);
  const std::vector<int64_t> kernel = node.Ints("kernel_shape");
  if (input != nullptr && input->size() != kernel.size() + 2) {
    node.Reject("input of rank {}, {} expected for a window of {} axes", input->size(), kernel.size() + 2,
                kernel.size());
  }
  if (node.node().input(2) != nullptr) return node.SetTensor(0, node.element(0), ShapeFromInput(node, 2));
  if (input == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  const std::vector<int64_t> strides = Spatial(node, "strides", kernel.size(), 1);
  const std::vector<int64_t> pads = Spatial(node, "pads", 2 * kernel.size(), 0);
  Shape output = {(*input)[0], (*input)[1]};
  for (size_t i = 0; i < kernel.size(); ++i) {
    Dim& size = output.emplace_back();
    int64_t span = 0;
    const int64_t windows = (*input)[i + 2].value;
    const bool reasonable = windows > 0 && AllReasonable({kernel[i], strides[i], pads[i], pads[i + kernel.size()]}) &&
                            !__builtin_mul_overflow(windows - 1, strides[i], &span) && span <= kReasonable;
    if (reasonable) size = AddDims(Dim(span), kernel[i] - pads[i] - pads[i + kernel.size()]);
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferDeformConv(NodeInference& node) { InferConv(node); }

void InferGridSample(NodeInference& node) {
  const Shape* input = node.shape(0);
  const Shape* grid = node.shape(1);
  if (input == nullptr && grid == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  const size_t rank = input != nullptr ? input->size() : grid->size();
  if (rank < 3 || (grid != nullptr && grid->size() != rank)) {
    node.Reject("input and grid of rank {} and {}, the same rank of 3 or more expected", rank,
                grid ? grid->size() : rank);
  }
  Shape output(rank);
  if (grid != nullptr) {
    for (size_t i = 2; i < rank; ++i) output[i] = (*grid)[i - 1];
    output[0] = (*grid)[0];
  }
  if (input != nullptr) {
    output[0] = (*input)[0];
    output[1] = (*input)[1];
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferAffineGrid(NodeInference& node) {
  const ValueData::Elements* size = node.data().Find(node.node().input(1));
  if (size == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  if (size->size() != 4 && size->size() != 5) node.Reject("size has {} numbers, 4 or 5 expected", size->size());
  Shape output;
  for (size_t i = 0; i < size->size(); ++i) {
    if (i == 1) continue;  // channels
    const ValueData::Element& element = (*size)[i];
    output.push_back(element.value && *element.value >= 0 ? Dim(*element.value) : Dim::Symbol(element.symbol));
  }
  output.emplace_back(static_cast<int64_t>(size->size()) - 2);
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferDft(NodeInference& node) {
  const Shape* input = node.shape(0);
  if (input == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  if (input->size() < 2) node.Reject("input of rank {}, 2 or more expected", input->size());
  const bool onesided = node.node().IntAttribute("onesided", 0) != 0;
  const bool inverse = node.node().IntAttribute("inverse", 0) != 0;
  Shape output = *input;
  output.back() = Dim(inverse && onesided ? 1 : 2);
  // The axis is an attribute before opset 20.
  const bool has_attribute = node.node().since_version() < 20;
  std::optional<std::vector<int64_t>> axis =
      std::vector<int64_t>{has_attribute ? node.node().IntAttribute("axis", 1) : -2};
  if (!has_attribute && node.node().input(2) != nullptr) axis = node.ints(2);
  if (!axis || axis->size() != 1) {
    for (size_t i = 0; i + 1 < output.size(); ++i) output[i] = Dim();
    return node.SetTensor(0, node.element(0), std::move(output));
  }
  Dim& dim = output[node.Axis((*axis)[0], output.size())];
  const bool has_length = node.node().input(1) != nullptr;
  if (has_length) {
    const auto length = node.ints(1);
    dim = length && length->size() == 1 && (*length)[0] >= 0 ? Dim((*length)[0]) : Dim();
  } else if (inverse && onesided) {
    dim = dim.known() && dim.value < kReasonable ? Dim(2 * (dim.value - 1)) : Dim();
  }
  if (onesided && !inverse) dim = dim.known() ? Dim(dim.value / 2 + 1) : Dim();
  node.SetTensor(0, node.element(0), std::move(output));
}

// Inputs: signal, frame_step, window?, frame_length?
void InferStft(NodeInference& node) {
  const Shape* signal = node.shape(0);
  const Shape* window = node.shape(2);
  const auto step = node.ints(1);
  const auto length = node.ints(3);
  if (signal != nullptr && signal->size() < 2) node.Reject("signal of rank {}, 3 expected", signal->size());
  if (window != nullptr && window->size() != 1) node.Reject("window of rank {}, 1 expected", window->size());
  Dim frame;
  if (length && length->size() == 1)
    frame = Dim((*length)[0]);
  else if (node.node().input(3) == nullptr && window != nullptr)
    frame = (*window)[0];
  Shape output(4);
  output[3] = Dim(2);
  if (signal != nullptr) output[0] = (*signal)[0];
  if (frame.known()) {
    output[2] = node.node().IntAttribute("onesided", 1) != 0 ? Dim(frame.value / 2 + 1) : frame;
    const bool counted = signal != nullptr && (*signal)[1].known() && step && step->size() == 1 && (*step)[0] > 0;
    if (counted && (*signal)[1].value >= frame.value) {
      output[1] = Dim(((*signal)[1].value - frame.value) / (*step)[0] + 1);
    }
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferImageDecoder(NodeInference& node) {
  const bool gray = node.node().StringAttribute("pixel_format", "RGB") == "Grayscale";
  node.SetTensor(0, DataType::kUint8, Shape{Dim(), Dim(), Dim(gray ? 1 : 3)});
}

}  // namespace epiphyte::core
