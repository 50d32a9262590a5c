#include "epiphyte/kit/graph/ir.hpp"

#include <algorithm>
#include <utility>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit::ir {
namespace {

// An attribute with another type than the operator's schema says is an error of the model. It does not count as
// missing.
const Attribute* FindTyped(const Node& node, std::string_view name, EpAttributeType type, const char* expected) {
  const Attribute* attribute = node.Find(name);
  if (attribute != nullptr && attribute->type != type)
    throw Error(EP_STATUS_INVALID_GRAPH, "attribute '" + std::string(name) + "' has type " +
                                             std::to_string(attribute->type) + "; " + expected + " expected");
  return attribute;
}

Attribute Make(std::string name, EpAttributeType type) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = type;
  return attribute;
}

}  // namespace

Attribute Attribute::Int(std::string name, int64_t value) {
  Attribute attribute = Make(std::move(name), EP_ATTRIBUTE_INT);
  attribute.ints = {value};
  return attribute;
}

Attribute Attribute::Ints(std::string name, std::vector<int64_t> values) {
  Attribute attribute = Make(std::move(name), EP_ATTRIBUTE_INTS);
  attribute.ints = std::move(values);
  return attribute;
}

Attribute Attribute::Float(std::string name, float value) {
  Attribute attribute = Make(std::move(name), EP_ATTRIBUTE_FLOAT);
  attribute.floats = {value};
  return attribute;
}

Attribute Attribute::Floats(std::string name, std::vector<float> values) {
  Attribute attribute = Make(std::move(name), EP_ATTRIBUTE_FLOATS);
  attribute.floats = std::move(values);
  return attribute;
}

Attribute Attribute::String(std::string name, std::string value) {
  Attribute attribute = Make(std::move(name), EP_ATTRIBUTE_STRING);
  attribute.strings.push_back(std::move(value));
  return attribute;
}

bool Value::IsStatic() const {
  return rank >= 0 && std::none_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; });
}

const Attribute* Node::Find(std::string_view attribute) const {
  for (const Attribute& value : attributes)
    if (value.name == attribute) return &value;
  return nullptr;
}

int64_t Node::Int(std::string_view attribute, int64_t fallback) const {
  const Attribute* value = FindTyped(*this, attribute, EP_ATTRIBUTE_INT, "an integer");
  return value == nullptr || value->ints.empty() ? fallback : value->ints[0];
}

float Node::Float(std::string_view attribute, float fallback) const {
  const Attribute* value = FindTyped(*this, attribute, EP_ATTRIBUTE_FLOAT, "a float");
  return value == nullptr || value->floats.empty() ? fallback : value->floats[0];
}

std::string Node::String(std::string_view attribute, std::string_view fallback) const {
  const Attribute* value = FindTyped(*this, attribute, EP_ATTRIBUTE_STRING, "a string");
  return value == nullptr || value->strings.empty() ? std::string(fallback) : value->strings[0];
}

std::vector<int64_t> Node::Ints(std::string_view attribute) const {
  const Attribute* value = FindTyped(*this, attribute, EP_ATTRIBUTE_INTS, "integers");
  return value == nullptr ? std::vector<int64_t>() : value->ints;
}

std::vector<float> Node::Floats(std::string_view attribute) const {
  const Attribute* value = FindTyped(*this, attribute, EP_ATTRIBUTE_FLOATS, "floats");
  return value == nullptr ? std::vector<float>() : value->floats;
}

std::vector<std::string> Node::Strings(std::string_view attribute) const {
  const Attribute* value = FindTyped(*this, attribute, EP_ATTRIBUTE_STRINGS, "strings");
  return value == nullptr ? std::vector<std::string>() : value->strings;
}

const Tensor* Node::TensorOf(std::string_view attribute) const {
  const Attribute* value = FindTyped(*this, attribute, EP_ATTRIBUTE_TENSOR, "a tensor");
  return value == nullptr || value->tensors.empty() ? nullptr : &value->tensors[0];
}

int32_t Graph::AddValue(Value value) {
  values.push_back(std::move(value));
  constant_of_value.push_back(-1);
  return static_cast<int32_t>(values.size()) - 1;
}

int32_t Graph::AddConstant(std::string constant_name, Tensor tensor, Constant::Storage storage,
                           std::shared_ptr<void> owner) {
  Value value;
  value.name = std::move(constant_name);
  value.type = tensor.type;
  value.kind = EP_KIND_TENSOR;
  value.rank = static_cast<int32_t>(tensor.rank());
  value.dims.assign(tensor.dims.begin(), tensor.dims.end());
  Constant constant;
  constant.value = AddValue(std::move(value));
  constant.tensor = std::move(tensor);
  constant.storage = storage;
  constant.owner = std::move(owner);
  constant_of_value.back() = static_cast<int32_t>(constants.size());
  constants.push_back(std::move(constant));
  return constants.back().value;
}

}  // namespace epiphyte::kit::ir
