#include "host/conformance/operators/quantized_form.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "epiphyte/kit/qdq/rules.hpp"

namespace epiphyte::operators {
namespace {

namespace qdq = kit::qdq;

// QuantizeLinear exists since opset 10, and has scales for each index of an axis since opset 13.
constexpr int64_t kFirstOpset = 10, kFirstOpsetWithAxis = 13;
constexpr Number kSteps = 255;
// Results that are differences of nearly equal floats are not more precise than this.
constexpr Number kLeastScale = 1.0L / 4096;

bool IsOnGrid(const std::vector<Number>& values, Number scale) {
  return std::all_of(values.begin(), values.end(), [scale](Number value) {
    return std::isfinite(value) && value / scale == std::nearbyint(value / scale);
  });
}

// Returns the range of the numbers, extended to include 0.
std::pair<Number, Number> RangeOf(const std::vector<Number>& values) {
  Number least = 0, most = 0;
  for (const Number value : values) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return {least, most};
}

// Returns the largest power of two up to kGrid of which all numbers are multiples; 0 if there is none.
Number GridOf(const std::vector<Number>& values) {
  constexpr int kFinest = -9, kCoarsest = -4;
  for (int exponent = kCoarsest; exponent >= kFinest; --exponent) {
    const Number scale = std::ldexp(Number{1}, exponent);
    if (IsOnGrid(values, scale)) return scale;
  }
  return 0;
}

// Chooses a zero point with which the range fits into the type: 0 for signed types if possible. Returns false if there
// is none.
bool ChooseZeroPoint(DataType type, const std::vector<Number>& values, Number scale, Random& random,
                     Number* zero_point) {
  const auto [least, most] = RangeOf(values);
  const Number low = std::nearbyint(least / scale), high = std::nearbyint(most / scale);
  if (high - low > kSteps) return false;
  const Number lowest = Lowest(type), highest = Highest(type);
  if (lowest < 0 && low >= lowest && high <= highest && random.Chance(50)) {
    *zero_point = 0;
    return true;
  }
  // Any zero point is valid that leaves room on both sides.
  *zero_point =
      static_cast<Number>(random.Int(static_cast<int64_t>(lowest - low), static_cast<int64_t>(highest - high)));
  return true;
}

// Sets one scale for the whole tensor. Returns false when its numbers need more than 8 bits.
bool FitTensor(const Array& array, DataType type, Random& random, QuantParams* quant) {
  const Number scale = GridOf(array.values);
  Number zero_point = 0;
  if (scale == 0 || !ChooseZeroPoint(type, array.values, scale, random, &zero_point)) return false;
  *quant = {type, -1, {scale}, {zero_point}};
  return true;
}

// Sets a scale for each index of the axis, with zero point 0.
bool FitChannels(const Array& array, DataType type, int64_t axis, QuantParams* quant) {
  std::vector<std::vector<Number>> channels(static_cast<size_t>(array.dims[static_cast<size_t>(axis)]));
  ForEachIndex(array.dims, [&](const Dims& index, int64_t i) {
    channels[static_cast<size_t>(index[static_cast<size_t>(axis)])].push_back(array[i]);
  });
  *quant = {type, axis, {}, {}};
  for (const std::vector<Number>& channel : channels) {
    const Number scale = GridOf(channel);
    const auto [least, most] = RangeOf(channel);
    if (scale == 0 || least / scale < Lowest(type) || most / scale > Highest(type)) return false;
    quant->scales.push_back(scale);
    quant->zero_points.push_back(0);
  }
  return true;
}

// Returns the axis of a weight's output channels; -1 if there is none.
int64_t ChannelAxisOf(const qdq::Rule& rule, const Case& c, int64_t rank) {
  switch (rule.axis) {
    case qdq::WeightAxis::kFirst: return 0;
    case qdq::WeightAxis::kSecond: return rank > 1 ? 1 : -1;
    case qdq::WeightAxis::kColumns: {
      const auto transposed = c.attributes.find("transB");
      const bool is_first = transposed != c.attributes.end() && std::get<int64_t>(transposed->second) != 0;
      return is_first ? 0 : rank - 1;
    }
    default: return -1;
  }
}

bool QuantizeWeights(const qdq::Rule& rule, DataType numbers, Case* c, Case::In* input, Random& random) {
  const bool is_signed = numbers == DataType::kInt8 && rule.signed_weights;
  const DataType type = is_signed || random.Chance(70) ? DataType::kInt8 : DataType::kUint8;
  const int64_t axis = ChannelAxisOf(rule, *c, input->array->rank());
  if (axis >= 0 && type == DataType::kInt8 && c->opset >= kFirstOpsetWithAxis && random.Chance(40) &&
      FitChannels(*input->array, type, axis, &input->quant))
    return true;
  return FitTensor(*input->array, type, random, &input->quant);
}

// An int32 bias has the product of the input's and the weights' scales. If that is impossible, the bias stays a float.
void QuantizeBias(Case* c, Case::In* input, Random& random) {
  input->constant = true;
  const QuantParams& x = c->inputs[0].quant;
  const QuantParams& w = c->inputs[1].quant;
  if (!x.has_value() || !w.has_value() || input->array->rank() != 1 || random.Chance(30)) return;
  const bool is_one = w.axis < 0 || w.scales.size() == 1;
  if (!is_one && static_cast<int64_t>(w.scales.size()) != input->array->count()) return;
  QuantParams quant = {DataType::kInt32, is_one ? -1 : 0, {}, {}};
  for (const Number scale : w.scales) {
    quant.scales.push_back(scale * x.scales[0]);
    quant.zero_points.push_back(0);
  }
  for (int64_t i = 0; i < input->array->count(); ++i) {
    const Number steps = (*input->array)[i] / quant.scales[is_one ? 0 : static_cast<size_t>(i)];
    if (steps != std::nearbyint(steps)) return;
  }
  input->quant = std::move(quant);
}

bool QuantizeInput(const qdq::Rule& rule, size_t index, DataType numbers, Case* c, Random& random) {
  Case::In* const input = &c->inputs[index];
  if (!input->array) return true;
  switch (rule.InputAt(index)) {
    case qdq::Input::kNumbers:
      return input->array->type == DataType::kFloat && FitTensor(*input->array, numbers, random, &input->quant);
    case qdq::Input::kWeights:
      return input->array->type == DataType::kFloat && QuantizeWeights(rule, numbers, c, input, random);
    case qdq::Input::kBias: QuantizeBias(c, input, random); return true;
    default: input->constant = input->constant || random.Chance(95); return true;
  }
}

// Returns false when the numbers are not finite.
bool QuantizeOutput(const qdq::Rule& rule, size_t index, DataType numbers, const Case& c, Case::Out* output) {
  if (!output->array) return true;
  if (rule.OutputAt(index) != qdq::Output::kQuantized && rule.OutputAt(index) != qdq::Output::kEither) return true;
  Array& array = *output->array;
  if (array.type != DataType::kFloat) return false;
  if (!std::all_of(array.values.begin(), array.values.end(), [](Number value) { return std::isfinite(value); }))
    return false;
  if (rule.moves) {
    output->quant = c.inputs[0].quant;
  } else {
    const auto [least, most] = RangeOf(array.values);
    const Number scale = most == least ? 1 : Round(DataType::kFloat, std::max((most - least) / kSteps, kLeastScale));
    if (scale > 1e30L) return false;
    output->quant = {numbers,
                     -1,
                     {scale},
                     {std::clamp(std::nearbyint(Lowest(numbers) - least / scale), Lowest(numbers), Highest(numbers))}};
  }
  // Moved elements must be equal. Elements that are interpolated (a linear Resize) are computed.
  const bool is_moved = rule.moves && IsOnGrid(array.values, output->quant.scales[0]);
  Array quantized(output->quant.type, array.dims);
  for (int64_t i = 0; i < array.count(); ++i)
    quantized[i] = std::clamp(std::nearbyint(array[i] / output->quant.scales[0]) + output->quant.zero_points[0],
                              Lowest(quantized.type), Highest(quantized.type));
  array = std::move(quantized);
  output->bound = {.ulps = is_moved ? Number{0} : 1};
  return true;
}

}  // namespace

bool Quantize(Case* c, Random& random) {
  kit::ir::Node node;
  node.op_type = c->op_type;
  node.domain = c->domain;
  const qdq::Rule* const rule = qdq::FindRule(node);
  if (rule == nullptr || c->opset < kFirstOpset || c->inputs.empty()) return false;
  const DataType numbers = random.Pick({DataType::kUint8, DataType::kInt8});
  for (size_t i = 0; i < c->inputs.size(); ++i)
    if (!QuantizeInput(*rule, i, numbers, c, random)) return false;
  for (size_t i = 0; i < c->outputs.size(); ++i)
    if (!QuantizeOutput(*rule, i, numbers, *c, &c->outputs[i])) return false;
  c->is_static = true;
  return true;
}

}  // namespace epiphyte::operators
