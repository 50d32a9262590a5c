#include "core/onnx/microsoft/microsoft_functions.h"

#include <algorithm>
#include <vector>

#include "core/base/suggest.h"
#include "core/onnx/microsoft/body.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core {
namespace {

using microsoft::Body;
using microsoft::Operator;

std::vector<std::span<const Operator>> Families() {
  return {microsoft::ActivationOperators(),         microsoft::ProductOperators(),
          microsoft::NormalizationOperators(),      microsoft::AttentionOperators(),
          microsoft::MultiHeadAttentionOperators(), microsoft::GroupedAttentionOperators(),
          microsoft::IntegerProductOperators(),     microsoft::QuantizedOperators(),
          microsoft::QuantizedLayoutOperators(),    microsoft::OtherOperators(),
          microsoft::MaskedAttentionOperators(),    microsoft::GenerationOperators()};
}

const Operator* FindIn(std::span<const Operator> family, std::string_view op_type) {
  const auto found =
      std::find_if(family.begin(), family.end(), [&](const Operator& row) { return row.op_type == op_type; });
  return found == family.end() ? nullptr : &*found;
}

const Operator* FindEarly(std::string_view domain, std::string_view op_type, int64_t opset) {
  constexpr int64_t kGoneSince = 10;  // ONNX 1.5
  if (!domain.empty() || opset <= 0 || opset >= kGoneSince) return nullptr;
  return FindIn(microsoft::EarlyOperators(), op_type);
}

const Operator* Find(const Node& node) {
  if (node.domain() != kMicrosoftDomain && !node.Is("SimplifiedLayerNormalization")) {
    // A node with a since-version is an ONNX operator.
    if (node.since_version() != 0) return nullptr;
    return FindEarly(node.domain(), node.op_type(), node.graph().Opset(""));
  }
  for (const std::span<const Operator> family : Families()) {
    if (const Operator* row = FindIn(family, node.op_type())) return row;
  }
  return nullptr;
}

AttributeType TypeOf(char kind) {
  switch (kind) {
    case 'f': return AttributeType::kFloat;
    case 'i': return AttributeType::kInt;
    case 's': return AttributeType::kString;
    case 'F': return AttributeType::kFloats;
    case 'S': return AttributeType::kStrings;
    case 'g': return AttributeType::kGraph;
    default: return AttributeType::kInts;
  }
}

// The type letter of an attribute in the row, or 0.
char KindOf(std::string_view attributes, std::string_view name) {
  while (!attributes.empty()) {
    const std::string_view entry = attributes.substr(0, attributes.find(' '));
    if (entry.size() == name.size() + 2 && entry.starts_with(name)) return entry.back();
    attributes.remove_prefix(std::min(attributes.size(), entry.size() + 1));
  }
  return 0;
}

void CheckCall(const Node& node, const Operator& row) {
  if (node.inputs().size() < row.min_inputs || node.inputs().size() > row.max_inputs) {
    Fail(StatusCode::kInvalidGraph, "{} has {} inputs, {} to {} expected", NodeLabel(node), node.inputs().size(),
         row.min_inputs, row.max_inputs);
  }
  if (node.outputs().empty() || node.outputs().size() > row.max_outputs) {
    Fail(StatusCode::kInvalidGraph, "{} has {} outputs, 1 to {} expected", NodeLabel(node), node.outputs().size(),
         row.max_outputs);
  }
  for (const auto& attribute : node.attributes()) {
    const char kind = KindOf(row.attributes, attribute->name());
    if (kind == 0) {
      Fail(StatusCode::kNotImplemented, "{}: attribute '{}' is not known; {} has: {}", NodeLabel(node),
           attribute->name(), row.op_type, row.attributes.empty() ? "none" : row.attributes);
    }
    if (attribute->type() != TypeOf(kind)) {
      Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' is of another type than {} defines", NodeLabel(node),
           attribute->name(), row.op_type);
    }
  }
}

}  // namespace

bool HasMicrosoftFunction(const Node& node) { return Find(node) != nullptr; }

bool IsEarlyOperator(std::string_view domain, std::string_view op_type, int64_t opset) {
  return FindEarly(domain, op_type, opset) != nullptr;
}

std::optional<std::string> BuildMicrosoftFunction(const Node& node, std::string* missing) {
  const Operator* row = Find(node);
  if (row == nullptr) return std::nullopt;
  CheckCall(node, *row);
  try {
    Body body(node);
    row->build(body);
    return body.Finish().SerializeAsString();
  } catch (const microsoft::NotKnownYet& unknown) {
    if (missing != nullptr) *missing = unknown.what;
    return std::nullopt;
  }
}

std::string NearestMicrosoftOperator(std::string_view op_type) {
  std::vector<std::string_view> names;
  for (const std::span<const Operator> family : Families()) {
    for (const Operator& row : family) names.push_back(row.op_type);
  }
  return std::string(Nearest(op_type, names));
}

}  // namespace epiphyte::core
