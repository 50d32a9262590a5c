// Checks a node against the schema of its operator.
#include <onnx/defs/schema.h>

#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "core/onnx/schema/attribute_list.h"
#include "core/onnx/schema/operator_schemas.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {
namespace {

void CheckCount(const Node& node, std::string_view what, uint32_t found, uint32_t least, uint32_t most) {
  if (found >= least && found <= most) return;
  const std::string expected = least == most                              ? std::to_string(least)
                               : most >= static_cast<uint32_t>(INT32_MAX) ? fmt::format("{} or more", least)
                                                                          : fmt::format("{} to {}", least, most);
  Fail(StatusCode::kInvalidGraph, "{} has {} {}, {} expected", NodeLabel(node), found, what, expected);
}

std::string_view AttributeTypeName(AttributeType type) {
  static constexpr std::string_view kNames[] = {
      "undefined", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
      "strings",   "tensors", "graphs", "sparse tensor", "sparse tensors", "type",  "types"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : kNames[0];
}

void CheckAttributeType(const Node& node, const Attribute& attribute, AttributeType expected) {
  if (attribute.type() == expected) return;
  // The reader has converted sparse values to dense ones.
  if (expected == AttributeType::kSparseTensor && attribute.type() == AttributeType::kTensor) return;
  Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' is of type {}, {} expected", NodeLabel(node), attribute.name(),
       AttributeTypeName(attribute.type()), AttributeTypeName(expected));
}

// ONNX reserves attribute names that begin with two underscores for tools.
bool IsInternal(const Attribute& attribute) { return attribute.name().starts_with("__"); }

[[noreturn]] void RefuseAttribute(const Node& node, const OperatorSchema& schema, const Attribute& attribute,
                                  const std::vector<std::string_view>& known) {
  const std::string_view nearest = Nearest(attribute.name(), known);
  const std::string hint = !nearest.empty() ? fmt::format("did you mean '{}'?", nearest)
                           : known.empty()  ? std::string("it has none")
                                            : fmt::format("it has: {}", fmt::join(known, ", "));
  Fail(StatusCode::kInvalidGraph, "{}: {}-{} has no attribute '{}'; {}", NodeLabel(node), schema.op_type,
       schema.since_version, attribute.name(), hint);
}

void CheckListedAttributes(const Node& node, const OperatorSchema& schema) {
  for (const auto& attribute : node.attributes()) {
    if (IsInternal(*attribute)) continue;
    const char kind = KindInList(*schema.attributes, attribute->name());
    if (kind == 0) RefuseAttribute(node, schema, *attribute, NamesInList(*schema.attributes));
    CheckAttributeType(node, *attribute, TypeOfKind(kind));
  }
}

void CheckNamesOfAttributes(const Node& node, const OperatorSchema& schema) {
  const auto& rules = schema.libonnx->attributes();
  for (const auto& attribute : node.attributes()) {
    if (rules.contains(attribute->name()) || IsInternal(*attribute)) continue;
    std::vector<std::string_view> known;
    for (const auto& [name, rule] : rules) known.push_back(name);
    RefuseAttribute(node, schema, *attribute, known);
  }
}

void CheckAttributes(const Node& node, const OperatorSchema& schema) {
  if (schema.attributes) return CheckListedAttributes(node, schema);
  if (schema.libonnx == nullptr) return;
  CheckNamesOfAttributes(node, schema);
  // A version without a row in the overlay only allows more element types than libonnx's newest version.
  const bool has_signature_of_libonnx = schema.exact || (schema.infer == nullptr && schema.inference_of.empty());
  for (const auto& [name, rule] : schema.libonnx->attributes()) {
    const Attribute* attribute = node.FindAttribute(name);
    if (attribute == nullptr) {
      if (!rule.required || !has_signature_of_libonnx) continue;
      Fail(StatusCode::kInvalidGraph, "{} lacks the attribute '{}' that {}-{} requires", NodeLabel(node), name,
           schema.op_type, schema.since_version);
    }
    CheckAttributeType(node, *attribute, static_cast<AttributeType>(rule.type));
  }
}

void CheckAttributes(const Node& node, const CustomOperator& schema) {
  for (const CustomOperator::AttributeRule& rule : schema.attributes) {
    const Attribute* attribute = node.FindAttribute(rule.name);
    if (attribute == nullptr && rule.required) {
      Fail(StatusCode::kInvalidGraph, "{} lacks the attribute '{}' that {}.{}-{} requires", NodeLabel(node), rule.name,
           schema.domain, schema.op_type, schema.since_version);
    }
    if (attribute == nullptr || attribute->type() == rule.type) continue;
    Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' is of type {}, {} expected", NodeLabel(node), rule.name,
         AttributeTypeName(attribute->type()), AttributeTypeName(rule.type));
  }
}

}  // namespace

uint32_t CountWithoutTrailingNulls(const std::vector<ValueDef*>& values) {
  size_t count = values.size();
  while (count > 0 && values[count - 1] == nullptr) --count;
  return static_cast<uint32_t>(count);
}

std::string NodeLabel(const Node& node) {
  if (!node.name().empty()) return fmt::format("{} node '{}'", node.op_type(), node.name());
  for (const ValueDef* output : node.outputs()) {
    if (output != nullptr) return fmt::format("{} node that makes '{}'", node.op_type(), output->name());
  }
  return fmt::format("{} node without a name", node.op_type());
}

void CheckNode(const Node& node, const OperatorSchema& schema) {
  if (schema.deprecated) {
    Fail(StatusCode::kNotImplemented,
         "{}: the operator was removed in opset {}; convert the model to use its successor", NodeLabel(node),
         schema.since_version);
  }
  CheckCount(node, "inputs", CountWithoutTrailingNulls(node.inputs()), schema.min_inputs, schema.max_inputs);
  CheckCount(node, "outputs", CountWithoutTrailingNulls(node.outputs()), schema.min_outputs, schema.max_outputs);
  CheckAttributes(node, schema);
}

void CheckNode(const Node& node, const CustomOperator& schema) {
  CheckCount(node, "inputs", CountWithoutTrailingNulls(node.inputs()), schema.min_inputs, schema.max_inputs);
  CheckCount(node, "outputs", CountWithoutTrailingNulls(node.outputs()), schema.min_outputs, schema.max_outputs);
  CheckAttributes(node, schema);
}

bool HasRightArity(const Node& node, const CustomOperator& schema) {
  const uint32_t inputs = CountWithoutTrailingNulls(node.inputs());
  const uint32_t outputs = CountWithoutTrailingNulls(node.outputs());
  return inputs >= schema.min_inputs && inputs <= schema.max_inputs && outputs >= schema.min_outputs &&
         outputs <= schema.max_outputs;
}

void CheckInputTypes(const Node& node, const OperatorSchema& schema) {
  constexpr size_t kMaxVariables = 32;
  const ValueDef* bound[kMaxVariables] = {};
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const ValueDef* value = node.inputs()[i];
    const OperatorSchema::Parameter* parameter = schema.input(i);
    if (value == nullptr || parameter == nullptr || !value->type() || !value->type()->IsTensor()) continue;
    const DataType found = value->type()->element_type();
    if (found == DataType::kUndefined) continue;
    if (schema.exact && parameter->only_tensors && (parameter->element_types >> static_cast<int>(found) & 1) == 0) {
      Fail(StatusCode::kInvalidGraph, "{}: input {} ('{}') is of type {}, which {}-{} does not accept", NodeLabel(node),
           i, value->name(), DataTypeName(found), schema.op_type, schema.since_version);
    }
    const bool free = i + 1 >= schema.inputs.size() && schema.variadic_inputs && !schema.homogeneous;
    if (free || parameter->variable < 0 || static_cast<size_t>(parameter->variable) >= kMaxVariables) continue;
    const ValueDef*& first = bound[parameter->variable];
    if (first == nullptr) {
      first = value;
    } else if (first->type()->element_type() != found) {
      Fail(StatusCode::kInvalidGraph, "{}: inputs '{}' and '{}' are of types {} and {}, the same type expected",
           NodeLabel(node), first->name(), value->name(), DataTypeName(first->type()->element_type()),
           DataTypeName(found));
    }
  }
}

}  // namespace epiphyte::core
