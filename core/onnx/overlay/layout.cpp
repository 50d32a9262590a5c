// Inference of operators that create, move or resize data.
#include <algorithm>
#include <cmath>

#include "core/onnx/infer/node_inference.h"
#include "core/onnx/overlay/overlay_inference.h"

namespace epiphyte::core {
namespace {

Shape UnknownShape(size_t rank) { return Shape(rank); }

std::vector<size_t> AllAxes(size_t rank) {
  std::vector<size_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = i;
  return axes;
}

std::vector<size_t> NormalAxes(const NodeInference& node, const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> normal;
  for (const int64_t axis : axes) normal.push_back(node.Axis(axis, rank));
  return normal;
}

// The attribute `axes`, or every axis.
std::vector<size_t> AxesAttribute(const NodeInference& node, size_t rank) {
  const std::vector<int64_t> axes = node.Ints("axes");
  return axes.empty() ? AllAxes(rank) : NormalAxes(node, axes, rank);
}

std::optional<int64_t> StaticCount(const Shape& shape) {
  int64_t count = 1;
  for (const Dim& dim : shape) {
    if (!dim.known() || __builtin_mul_overflow(count, dim.value, &count)) return std::nullopt;
  }
  return count;
}

std::string ShapeText(const Shape& shape) {
  std::string text;
  for (const Dim& dim : shape) text += (text.empty() ? "" : ",") + std::to_string(dim.value);
  return text;
}

// Computes the -1 of a Reshape from the number of elements. Dimensions that appear on both sides cancel.
void ResolveRest(const Shape& input, const std::vector<bool>& copied, size_t rest, Shape* output) {
  int64_t known_in = 1, known_out = 1;
  std::vector<std::string> symbols;
  for (size_t i = 0; i < input.size(); ++i) {
    if (i < copied.size() && copied[i]) continue;
    if (input[i].known()) {
      if (__builtin_mul_overflow(known_in, input[i].value, &known_in)) return;
    } else if (input[i].symbol.empty()) {
      return;
    } else {
      symbols.push_back(input[i].symbol);
    }
  }
  for (size_t i = 0; i < output->size(); ++i) {
    const Dim& dim = (*output)[i];
    if (i == rest || (i < copied.size() && copied[i])) continue;
    if (dim.known()) {
      if (__builtin_mul_overflow(known_out, dim.value, &known_out)) return;
      continue;
    }
    const auto found = std::find(symbols.begin(), symbols.end(), dim.symbol);
    if (dim.symbol.empty() || found == symbols.end()) return;
    symbols.erase(found);
  }
  if (known_out == 0 || known_in % known_out != 0) return;
  if (symbols.empty()) (*output)[rest] = Dim(known_in / known_out);
  if (symbols.size() == 1 && known_in == known_out) (*output)[rest] = Dim::Symbol(symbols[0]);
}

}  // namespace

void InferReshape(NodeInference& node) {
  const ValueData::Elements* target = node.data().Find(node.node().input(1));
  const Shape* input = node.shape(0);
  if (target == nullptr) return node.SetTensor(0, node.element(0), ShapeFromInput(node, 1));
  const bool allow_zero = node.node().IntAttribute("allowzero", 0) != 0;
  Shape output(target->size());
  std::vector<bool> copied(target->size(), false);
  std::optional<size_t> rest;
  // A size that is only known as a symbol could also be -1 or 0, so the -1 can't be resolved then.
  for (size_t i = 0; i < target->size(); ++i) {
    const ValueData::Element& element = (*target)[i];
    if (!element.value) {
      if (!element.symbol.empty()) output[i] = Dim::Symbol(element.symbol);
    } else if (*element.value == -1) {
      if (rest) node.Reject("the target shape has more than one -1");
      rest = i;
    } else if (*element.value < -1) {
      node.Reject("the target shape has a {}", *element.value);
    } else if (*element.value == 0 && !allow_zero) {
      copied[i] = true;
      if (input == nullptr) continue;
      if (i >= input->size()) node.Reject("dimension {} is copied from an input of rank {}", i, input->size());
      output[i] = (*input)[i];
    } else {
      output[i] = Dim(*element.value);
    }
  }
  if (rest && input != nullptr) ResolveRest(*input, copied, *rest, &output);
  const std::optional<int64_t> before = input == nullptr ? std::nullopt : StaticCount(*input);
  const std::optional<int64_t> after = StaticCount(output);
  if (before && after && *before != *after) {
    node.Reject("{} elements can't be reshaped to [{}] with {} elements", *before, ShapeText(output), *after);
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferConstantOfShape(NodeInference& node) {
  const Attribute* value = node.node().FindAttribute("value");
  const bool has_value = value != nullptr && value->type() == AttributeType::kTensor;
  node.SetTensor(0, has_value ? value->t()->type() : DataType::kFloat, ShapeFromInput(node, 0));
}

void InferExpand(NodeInference& node) {
  const Shape* input = node.shape(0);
  const std::optional<Shape> target = ShapeFromInput(node, 1);
  std::optional<Shape> output;
  if (input != nullptr && target) output = Broadcast(node, *input, *target);
  node.SetTensor(0, node.element(0), std::move(output));
}

namespace {

// The size of a sliced dimension; unknown if it depends on unknown values.
Dim SliceOf(const Dim& dim, int64_t start, int64_t end, int64_t step) {
  if (start == 0 && step == 1 && end >= INT32_MAX) return dim;
  if (!dim.known() || dim.value == 0) return dim.known() ? dim : Dim();
  const auto within = [&](int64_t index, int64_t low, int64_t high) {
    return std::clamp(index < 0 ? index + dim.value : index, low, high);
  };
  if (step > 0) {
    const int64_t length = within(end, 0, dim.value) - within(start, 0, dim.value);
    return Dim(length <= 0 ? 0 : (length - 1) / step + 1);
  }
  const int64_t length = within(start, 0, dim.value - 1) - within(end, -1, dim.value - 1);
  // INT64_MIN can't be negated; the result is one element in any case.
  return Dim(length <= 0 ? 0 : (length - 1) / (step == INT64_MIN ? INT64_MAX : -step) + 1);
}

}  // namespace

// Unlike libonnx's function, it keeps the rank when the bounds are only known during the run.
void InferSlice(NodeInference& node) {
  const Shape* input = node.shape(0);
  if (input == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  const auto starts = node.ints(1);
  const auto ends = node.ints(2);
  auto axes = node.ints(3);
  auto steps = node.ints(4);
  Shape output(input->size());
  const size_t count = starts ? starts->size() : ends ? ends->size() : 0;
  if (starts && ends && ends->size() != count)
    node.Reject("it has {} starts and {} ends, as many of each expected", count, ends->size());
  if (node.node().input(3) == nullptr && (starts || ends)) {
    axes.emplace();
    for (size_t i = 0; i < count; ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!axes) return node.SetTensor(0, node.element(0), std::move(output));
  if ((starts || ends) && axes->size() != count)
    node.Reject("it has bounds for {} axes, but lists {}", count, axes->size());
  if (node.node().input(4) == nullptr) steps.emplace(axes->size(), 1);
  if (steps && steps->size() != axes->size())
    node.Reject("it has {} steps for {} axes, one for each expected", steps->size(), axes->size());
  output = *input;
  for (size_t i = 0; i < axes->size(); ++i) {
    Dim& dim = output[node.Axis((*axes)[i], input->size())];
    if (steps && (*steps)[i] == 0) node.Reject("step {} is 0", i);
    dim = starts && ends && steps ? SliceOf(dim, (*starts)[i], (*ends)[i], (*steps)[i]) : Dim();
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

// Unlike libonnx's function, it handles distances that overflow the element type. The kernel refuses a step of 0.
void InferRange(NodeInference& node) {
  Dim length;
  const auto ints = [&](size_t i) { return node.ints(i).value_or(std::vector<int64_t>()); };
  const auto floats = [&](size_t i) { return node.floats(i).value_or(std::vector<float>()); };
  if (const auto start = ints(0), limit = ints(1), step = ints(2);
      start.size() == 1 && limit.size() == 1 && step.size() == 1 && step[0] != 0) {
    const __int128 distance = static_cast<__int128>(limit[0]) - start[0];
    const __int128 steps = (distance + step[0] - (step[0] > 0 ? 1 : -1)) / step[0];
    length = steps <= INT64_MAX ? Dim(std::max<int64_t>(static_cast<int64_t>(steps), 0)) : Dim();
    if ((distance > 0) != (step[0] > 0)) length = Dim(0);
  } else if (const auto from = floats(0), to = floats(1), by = floats(2);
             from.size() == 1 && to.size() == 1 && by.size() == 1 && by[0] != 0) {
    const double steps = std::ceil((static_cast<double>(to[0]) - from[0]) / by[0]);
    if (steps < 0x1p62) length = Dim(static_cast<int64_t>(std::max(steps, 0.0)));
  }
  node.SetTensor(0, node.element(0), Shape{length});
}

void InferGatherNd(NodeInference& node) {
  const Shape* data = node.shape(0);
  const Shape* indices = node.shape(1);
  const int64_t batch = node.node().IntAttribute("batch_dims", 0);
  std::optional<Shape> output;
  if (data != nullptr && indices != nullptr && !indices->empty() && indices->back().known()) {
    const auto data_rank = static_cast<int64_t>(data->size());
    const auto indices_rank = static_cast<int64_t>(indices->size());
    const int64_t depth = indices->back().value;
    if (batch < 0 || batch >= indices_rank || batch > data_rank || depth < 1 || depth > data_rank - batch) {
      node.Reject("batch_dims {} and indices of depth {} don't fit data of rank {} and indices of rank {}", batch,
                  depth, data_rank, indices_rank);
    }
    output.emplace(indices->begin(), indices->end() - 1);
    output->insert(output->end(), data->begin() + (batch + depth), data->end());
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferSplit(NodeInference& node) {
  const Shape* input = node.shape(0);
  const size_t count = node.node().outputs().size();
  const DataType element = node.element(0);
  if (count == 0) node.Reject("there are no outputs, 1 or more expected");
  if (input == nullptr) {
    for (size_t i = 0; i < count; ++i) node.SetTensor(i, element, std::nullopt);
    return;
  }
  const size_t axis = node.Axis(node.node().IntAttribute("axis", 0), input->size());
  const Dim& whole = (*input)[axis];
  std::optional<std::vector<int64_t>> sizes = node.ints(1);
  if (node.node().input(1) == nullptr && whole.known() && whole.value < INT64_MAX / 2) {
    const auto parts = node.node().IntAttribute("num_outputs", static_cast<int64_t>(count));
    if (parts != static_cast<int64_t>(count)) {
      node.Reject("num_outputs is {}, but there are {} outputs", parts, count);
    }
    const int64_t chunk = (whole.value + parts - 1) / parts;
    sizes.emplace();
    for (int64_t i = 0; i < parts; ++i) {
      sizes->push_back(std::clamp<int64_t>(whole.value - i * chunk, 0, chunk));
    }
  }
  if (sizes && sizes->size() != count) {
    node.Reject("split has {} sizes, but there are {} outputs", sizes->size(), count);
  }
  if (sizes && whole.known()) {
    int64_t sum = 0;
    for (const int64_t size : *sizes) {
      if (size < 0 || __builtin_add_overflow(sum, size, &sum)) node.Reject("split has a negative or huge size");
    }
    if (sum != whole.value) node.Reject("split adds up to {}, but the dimension is {}", sum, whole.value);
  }
  for (size_t i = 0; i < count; ++i) {
    Shape shape = *input;
    shape[axis] = sizes && (*sizes)[i] >= 0 ? Dim((*sizes)[i]) : Dim();
    node.SetTensor(i, element, std::move(shape));
  }
}

void InferPad(NodeInference& node) {
  const Shape* input = node.shape(0);
  if (input == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  const auto pads = node.ints(1);
  const bool has_axes = node.node().input(3) != nullptr;
  const auto axes = node.ints(3);
  if (!pads || (has_axes && !axes)) return node.SetTensor(0, node.element(0), UnknownShape(input->size()));
  const std::vector<size_t> padded = has_axes ? NormalAxes(node, *axes, input->size()) : AllAxes(input->size());
  if (pads->size() != 2 * padded.size()) {
    node.Reject("pads has {} numbers, {} expected", pads->size(), 2 * padded.size());
  }
  Shape output = *input;
  for (size_t i = 0; i < padded.size(); ++i) {
    int64_t both = 0;
    const bool overflow = __builtin_add_overflow((*pads)[i], (*pads)[i + padded.size()], &both);
    output[padded[i]] = overflow ? Dim() : AddDims(output[padded[i]], both);
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferResize(NodeInference& node) {
  const Shape* input = node.shape(0);
  if (input == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  const std::vector<size_t> axes = AxesAttribute(node, input->size());
  const auto sizes = node.ints(3);
  const auto scales = node.floats(2);
  const std::string policy = node.node().StringAttribute("keep_aspect_ratio_policy", "stretch");
  Shape output = *input;
  for (const size_t axis : axes) output[axis] = Dim();
  if (sizes && !sizes->empty()) {
    if (sizes->size() != axes.size()) {
      node.Reject("sizes has {} numbers, {} expected", sizes->size(), axes.size());
    }
    double scale = policy == "not_larger" ? INFINITY : 0;
    bool all_known = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Dim& dim = (*input)[axes[i]];
      all_known &= dim.known() && dim.value > 0;
      const double ratio = static_cast<double>((*sizes)[i]) / static_cast<double>(std::max<int64_t>(dim.value, 1));
      scale = policy == "not_larger" ? std::min(scale, ratio) : std::max(scale, ratio);
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      if ((*sizes)[i] < 0) node.Reject("sizes has a {}", (*sizes)[i]);
      if (policy == "stretch") {
        output[axes[i]] = Dim((*sizes)[i]);
      } else if (all_known) {
        output[axes[i]] = Dim(static_cast<int64_t>(std::round(scale * static_cast<double>((*input)[axes[i]].value))));
      }
    }
  } else if (scales && !scales->empty()) {
    if (scales->size() != axes.size()) {
      node.Reject("scales has {} numbers, {} expected", scales->size(), axes.size());
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      const Dim& dim = (*input)[axes[i]];
      const float scale = (*scales)[i];
      const float size = std::floor(static_cast<float>(dim.value) * scale);
      if (scale == 1.0f)
        output[axes[i]] = dim;
      else if (dim.known() && size >= 0 && size < 9e18f)
        output[axes[i]] = Dim(static_cast<int64_t>(size));
    }
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferCenterCropPad(NodeInference& node) {
  const Shape* input = node.shape(0);
  if (input == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
  const std::vector<size_t> axes = AxesAttribute(node, input->size());
  const ValueData::Elements* target = node.data().Find(node.node().input(1));
  if (target != nullptr && target->size() != axes.size()) {
    node.Reject("shape has {} numbers, {} expected", target->size(), axes.size());
  }
  Shape output = *input;
  for (size_t i = 0; i < axes.size(); ++i) {
    output[axes[i]] = Dim();
    if (target == nullptr) continue;
    const ValueData::Element& element = (*target)[i];
    if (element.value)
      output[axes[i]] = Dim(std::max<int64_t>(*element.value, 0));
    else if (!element.symbol.empty())
      output[axes[i]] = Dim::Symbol(element.symbol);
  }
  node.SetTensor(0, node.element(0), std::move(output));
}

void InferCol2Im(NodeInference& node) {
  const Shape* input = node.shape(0);
  const auto image = node.ints(1);
  const auto block = node.ints(2);
  if (input != nullptr && input->size() != 3) node.Reject("input of rank {}, 3 expected", input->size());
  if (!image) return node.SetTensor(0, node.element(0), std::nullopt);
  Shape output(2);
  if (input != nullptr) {
    output[0] = (*input)[0];
    int64_t area = 1;
    for (const int64_t size : block.value_or(std::vector<int64_t>{0})) {
      if (__builtin_mul_overflow(area, size, &area)) area = 0;
    }
    if (area > 0 && (*input)[1].known()) output[1] = Dim((*input)[1].value / area);
  }
  for (const int64_t size : *image) output.push_back(size >= 0 ? Dim(size) : Dim());
  node.SetTensor(0, node.element(0), std::move(output));
}

}  // namespace epiphyte::core
