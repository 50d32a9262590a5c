#include "epiphyte/kit/qdq/clamp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "epiphyte/kit/graph/elements.hpp"

namespace epiphyte::kit::qdq {
namespace {

// Quantises as QuantizeLinear does: in float, to nearest, ties to even.
int64_t Quantize(double number, const Quantization& to) {
  const float scaled = static_cast<float>(number) / static_cast<float>(to.Scale(0));
  const double rounded = std::nearbyint(static_cast<double>(scaled)) + static_cast<double>(to.ZeroPoint(0));
  const auto low = static_cast<double>(LowestOf(to.type));
  const auto high = static_cast<double>(HighestOf(to.type));
  return static_cast<int64_t>(std::min(std::max(rounded, low), high));
}

// Reads one bound: a constant, or a dequantised constant.
bool ReadBound(const ir::Editor& editor, int32_t value, double* number, std::vector<int32_t>* bounds) {
  const ir::Graph& graph = editor.graph();
  if (const ir::Tensor* constant = ir::ElementsOf(graph, value); constant != nullptr)
    return constant->Count() == 1 && ir::NumberAt(*constant, 0, number);
  const int32_t producer = editor.Producer(value);
  if (producer < 0 || !IsDequantize(editor.node(producer))) return false;
  std::string unused;
  const std::optional<Quantization> from = ReadQuantization(graph, editor.node(producer), &unused);
  const ir::Tensor* quantised = ir::ElementsOf(graph, editor.node(producer).inputs[0]);
  double stored = 0;
  if (!from || !from->IsPerTensor() || quantised == nullptr || quantised->Count() != 1 ||
      !ir::NumberAt(*quantised, 0, &stored))
    return false;
  *number = (stored - static_cast<double>(from->ZeroPoint(0))) * from->Scale(0);
  bounds->push_back(producer);
  return true;
}

}  // namespace

bool IsClamp(const ir::Node& node) { return node.Is("Relu") || node.Is("Clip"); }

std::optional<Clamp> ReadClamp(const ir::Editor& editor, const ir::Node& node, const Quantization& quantization,
                               std::vector<int32_t>* bounds, std::string* why) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!quantization.IsPerTensor()) {
    *why = "what follows it quantises with several scales";
    return {};
  }
  double low = 0;
  double high = kInfinity;
  if (node.Is("Clip")) {
    // Bounds are attributes up to version 6, and inputs since 11.
    low = node.Has("min") ? static_cast<double>(node.Float("min", 0)) : -kInfinity;
    high = node.Has("max") ? static_cast<double>(node.Float("max", 0)) : kInfinity;
    std::vector<int32_t> found;
    if ((node.HasInput(1) && !ReadBound(editor, node.inputs[1], &low, &found)) ||
        (node.HasInput(2) && !ReadBound(editor, node.inputs[2], &high, &found)) || std::isnan(low) ||
        std::isnan(high)) {
      *why = "its bounds aren't constant numbers";
      return {};
    }
    bounds->insert(bounds->end(), found.begin(), found.end());
  }
  return Clamp{Quantize(low, quantization), Quantize(high, quantization)};
}

}  // namespace epiphyte::kit::qdq
