#include "tests/models/quantizer/placement.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tests/models/quantizer/statistics.h"
#include "tests/models/rewrite/model_file.h"

namespace epiphyte::test {
namespace {

using kit::qdq::Input;
using kit::qdq::Output;

template <size_t N>
bool IsOneOf(const std::string& op_type, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), op_type) != std::end(names);
}

constexpr std::string_view kAnchors[] = {"AveragePool",
                                         "Conv",
                                         "ConvTranspose",
                                         "Gemm",
                                         "GlobalAveragePool",
                                         "GlobalMaxPool",
                                         "InstanceNormalization",
                                         "LayerNormalization",
                                         "MatMul",
                                         "Softmax"};

// Operators that are quantized if their operands are, in addition to those that only move elements.
constexpr std::string_view kFollowers[] = {"Abs",       "Add",          "BatchNormalization",
                                           "Clip",      "Concat",       "DepthToSpace",
                                           "Div",       "Elu",          "Erf",
                                           "Gelu",      "HardSigmoid",  "HardSwish",
                                           "LeakyRelu", "Max",          "Min",
                                           "Mul",       "Neg",          "PRelu",
                                           "Pad",       "ReduceMax",    "ReduceMean",
                                           "ReduceMin", "Relu",         "Sigmoid",
                                           "Slice",     "SpaceToDepth", "Split",
                                           "Sub",       "Tanh"};

constexpr std::string_view kAngles[] = {"Cos", "Sin"};

bool IsClamp(const onnx::NodeProto& node) { return node.op_type() == "Relu" || node.op_type() == "Clip"; }

// True for a tensor of one float that stands for minus infinity.
bool IsEndless(const onnx::TensorProto* tensor) {
  if (tensor == nullptr || !IsOneFloat(*tensor)) return false;
  float value = 0;
  if (tensor->float_data_size() == 1) {
    value = tensor->float_data(0);
  } else if (tensor->raw_data().size() == sizeof(value)) {
    std::memcpy(&value, tensor->raw_data().data(), sizeof(value));
  }
  return value <= -kEndless;
}

// A Gemm with other factors would need other scales for its bias.
bool IsPlainGemm(const onnx::NodeProto& node) {
  return FloatAttribute(node, "alpha", 1) == 1 && FloatAttribute(node, "beta", 1) == 1 &&
         IntAttribute(node, "transA", 0) == 0;
}

}  // namespace

kit::ir::Node ToKitNode(const onnx::NodeProto& node) {
  kit::ir::Node result;
  result.op_type = node.op_type();
  result.domain = node.domain() == "ai.onnx" ? "" : node.domain();
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.type() == onnx::AttributeProto::INT) {
      result.attributes.push_back(kit::ir::Attribute::Int(attribute.name(), attribute.i()));
    }
  }
  return result;
}

QuantizedPlacement::QuantizedPlacement(const GraphIndex& index, const std::set<std::string>& activations)
    : index_(index),
      activations_(activations),
      rules_(static_cast<size_t>(index.graph().node_size())),
      angle_(rules_.size(), false),
      quantized_(rules_.size(), false),
      clamp_of_(rules_.size(), -1),
      is_clamp_(rules_.size(), false) {
  const int count = index.graph().node_size();
  for (int n = 0; n < count; ++n) rules_[static_cast<size_t>(n)] = kit::qdq::FindRule(ToKitNode(index.node(n)));
  StayFloatAboveAngles();
  for (int n = 0; n < count; ++n) {
    quantized_[static_cast<size_t>(n)] = CanBeQuantized(n) && (IsAnchor(n) || AllNumbersAreQuantized(n));
  }
  for (int n = count - 1; n >= 0; --n) {
    if (IsQuantized(n) && !IsAnchor(n) && !IsRead(n)) quantized_[static_cast<size_t>(n)] = false;
  }
  FindClamps();
}

bool QuantizedPlacement::Moves(int node) const {
  const std::string& op_type = index_.node(node).op_type();
  return RuleOf(node).moves || op_type == "Slice" || op_type == "Split";
}

bool QuantizedPlacement::IsMask(const std::string& value) const {
  const int producer = index_.Producer(value);
  if (producer < 0) return false;
  const onnx::NodeProto& node = index_.node(producer);
  if (node.op_type() != "Where" && node.op_type() != "Mul") return false;
  return std::any_of(node.input().begin(), node.input().end(),
                     [this](const std::string& input) { return IsEndless(index_.Initializer(input)); });
}

void QuantizedPlacement::StayFloatAboveAngles() {
  for (int n = index_.graph().node_size() - 1; n >= 0; --n) {
    if (!angle_[static_cast<size_t>(n)] && !IsOneOf(index_.node(n).op_type(), kAngles)) continue;
    for (const std::string& input : index_.node(n).input()) {
      const int producer = index_.Producer(input);
      if (producer >= 0) angle_[static_cast<size_t>(producer)] = true;
    }
  }
}

bool QuantizedPlacement::IsAnchor(int node) const { return IsOneOf(index_.node(node).op_type(), kAnchors); }

// True if the node could be a unit, regardless of its neighbours.
bool QuantizedPlacement::CanBeQuantized(int n) const {
  const onnx::NodeProto& node = index_.node(n);
  const kit::qdq::Rule* rule = rules_[static_cast<size_t>(n)];
  if (rule == nullptr || angle_[static_cast<size_t>(n)]) return false;
  if (!rule->moves && !IsOneOf(node.op_type(), kAnchors) && !IsOneOf(node.op_type(), kFollowers)) return false;
  if (node.op_type() == "Gemm" && !IsPlainGemm(node)) return false;
  for (int i = 0; i < node.input_size(); ++i) {
    const std::string& input = node.input(i);
    const Input kind = rule->InputAt(static_cast<size_t>(i));
    if (input.empty()) continue;
    const onnx::TensorProto* constant = index_.Initializer(input);
    if (kind == Input::kNone || (kind == Input::kOption && constant == nullptr)) return false;
    if (kind != Input::kNumbers && kind != Input::kWeights) continue;
    if (constant == nullptr ? !activations_.contains(input) : constant->data_type() != onnx::TensorProto::FLOAT) {
      return false;
    }
  }
  for (int i = 0; i < node.output_size(); ++i) {
    const Output kind = rule->OutputAt(static_cast<size_t>(i));
    if (node.output(i).empty()) continue;
    if (kind == Output::kNone) return false;
    if (kind != Output::kPlain && !activations_.contains(node.output(i))) return false;
  }
  return true;
}

bool QuantizedPlacement::AllNumbersAreQuantized(int n) const {
  const onnx::NodeProto& node = index_.node(n);
  bool any = false;
  for (int i = 0; i < node.input_size(); ++i) {
    const std::string& input = node.input(i);
    const Input kind = rules_[static_cast<size_t>(n)]->InputAt(static_cast<size_t>(i));
    if ((kind != Input::kNumbers && kind != Input::kWeights) || index_.Initializer(input) != nullptr) continue;
    const bool quantized = IsQuantized(index_.Producer(input));
    if (!quantized && !(node.op_type() == "Add" && IsMask(input))) return false;
    any = any || quantized;
  }
  return any;
}

// True if a quantized node reads an output of node n, or if the output is one of the graph.
bool QuantizedPlacement::IsRead(int n) const {
  const auto& outputs = index_.node(n).output();
  return std::any_of(outputs.begin(), outputs.end(), [this](const std::string& output) {
    const std::vector<int>& readers = index_.Readers(output);
    return index_.IsOutput(output) ||
           std::any_of(readers.begin(), readers.end(), [this](int reader) { return IsQuantized(reader); });
  });
}

void QuantizedPlacement::FindClamps() {
  for (int n = 0; n < index_.graph().node_size(); ++n) {
    if (!IsQuantized(n) || !IsClamp(index_.node(n))) continue;
    const std::string& input = index_.node(n).input(0);
    const int producer = index_.Producer(input);
    if (!IsQuantized(producer) || Moves(producer) || index_.node(producer).output_size() != 1 ||
        is_clamp_[static_cast<size_t>(producer)] || index_.OnlyReader(input) != n) {
      continue;
    }
    clamp_of_[static_cast<size_t>(producer)] = n;
    is_clamp_[static_cast<size_t>(n)] = true;
  }
}

}  // namespace epiphyte::test
