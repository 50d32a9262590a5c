#include "epiphyte/kit/qdq/bias.hpp"

#include <algorithm>
#include <cmath>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/qdq/rules.hpp"

namespace epiphyte::kit::qdq {
namespace {

constexpr double kPrecision = 1e-6;  // relative error of a product of two floats after rounding to float

// The input with role `kind` in the rule; -1: none.
int32_t FindInput(const ir::Node& node, const Rule& rule, Input kind) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (rule.InputAt(i) == kind) return static_cast<int32_t>(i);
  }
  return -1;
}

std::optional<Quantization> ReadInput(const ir::Editor& editor, const Unit& unit, int32_t input, std::string* why) {
  const int32_t node = input < 0 ? -1 : unit.dequantize[static_cast<size_t>(input)];
  if (node >= 0) return ReadQuantization(editor.graph(), editor.node(node), why);
  *why = "its input or its weights aren't dequantised";
  return {};
}

double ProductScale(const Quantization& input, const Quantization& weights, size_t channel) {
  return input.Scale(0) * weights.Scale(weights.Count() == 1 ? 0 : channel);
}

// The stored elements of the bias and their quantisation.
struct Stored {
  const ir::Tensor* elements = nullptr;
  std::optional<Quantization> quantization;  // nothing: the elements are floats
};

std::optional<Stored> FindStored(const ir::Editor& editor, const Unit& unit, int32_t input, std::string* why) {
  Stored stored;
  const ir::Node& node = editor.node(unit.target);
  int32_t value = node.inputs[static_cast<size_t>(input)];
  if (const int32_t dequantize = unit.dequantize[static_cast<size_t>(input)]; dequantize >= 0) {
    stored.quantization = ReadQuantization(editor.graph(), editor.node(dequantize), why);
    if (!stored.quantization) return {};
    value = editor.node(dequantize).inputs[0];
  }
  stored.elements = ir::ElementsOf(editor.graph(), value);
  if (stored.elements == nullptr) {
    *why = "its bias isn't a constant whose bytes are there";
    return {};
  }
  if (stored.quantization && stored.quantization->Count() != 1 &&
      stored.quantization->Count() != static_cast<size_t>(stored.elements->Count())) {
    *why = "its bias has " + std::to_string(stored.elements->Count()) + " elements and " +
           std::to_string(stored.quantization->Count()) + " scales";
    return {};
  }
  return stored;
}

}  // namespace

bool HasProductScale(const Quantization& bias, const Quantization& input, const Quantization& weights) {
  if (!input.IsPerTensor() || (bias.Count() != 1 && weights.Count() != 1 && bias.Count() != weights.Count()))
    return false;
  for (size_t i = 0; i < std::max(bias.Count(), weights.Count()); ++i) {
    const double expected = ProductScale(input, weights, i);
    if (std::fabs(bias.Scale(bias.Count() == 1 ? 0 : i) - expected) > expected * kPrecision) return false;
  }
  return true;
}

std::optional<std::vector<int32_t>> QuantizedBias(const ir::Editor& editor, const Unit& unit, std::string* why) {
  const ir::Node& node = editor.node(unit.target);
  const Rule* rule = FindRule(node);
  const int32_t bias = rule == nullptr ? -1 : FindInput(node, *rule, Input::kBias);
  if (bias < 0 || !node.HasInput(static_cast<size_t>(bias))) return std::vector<int32_t>();
  const auto input = ReadInput(editor, unit, FindInput(node, *rule, Input::kNumbers), why);
  if (!input) return {};
  const auto weights = ReadInput(editor, unit, FindInput(node, *rule, Input::kWeights), why);
  if (!weights) return {};
  const std::optional<Stored> stored = FindStored(editor, unit, bias, why);
  if (!stored) return {};
  const auto count = static_cast<size_t>(stored->elements->Count());
  const size_t channels = weights->block != 0 ? 1 : weights->Count();
  if (weights->block != 0 || (channels != 1 && count != 1 && count != channels)) {
    *why = "its bias has " + std::to_string(count) + " elements, and its weights " + std::to_string(weights->Count()) +
           " scales" + (weights->block != 0 ? " of blocks" : "");
    return {};
  }
  // The product of two scales has a small rounding error. So numbers that already have these steps are taken unchanged.
  const bool is_in_steps = stored->quantization && HasProductScale(*stored->quantization, *input, *weights);
  std::vector<int32_t> result(std::max(count, channels));
  for (size_t i = 0; i < result.size(); ++i) {
    double number = 0;
    if (!ir::NumberAt(*stored->elements, count == 1 ? 0 : i, &number)) {
      *why = "its bias is " + TypeName(stored->elements->type) + ", expected numbers";
      return {};
    }
    if (stored->quantization) {
      const size_t scale = stored->quantization->Count() == 1 ? 0 : i;
      number -= static_cast<double>(stored->quantization->ZeroPoint(scale));
      if (!is_in_steps) number *= stored->quantization->Scale(scale);
    }
    const double steps = is_in_steps ? number : std::nearbyint(number / ProductScale(*input, *weights, i));
    if (!(steps >= INT32_MIN && steps <= INT32_MAX)) {
      *why = "element " + std::to_string(count == 1 ? 0 : i) + " of its bias is " + std::to_string(number) +
             ", which int32 doesn't hold in steps of " + std::to_string(ProductScale(*input, *weights, i));
      return {};
    }
    result[i] = static_cast<int32_t>(steps);
  }
  return result;
}

}  // namespace epiphyte::kit::qdq
