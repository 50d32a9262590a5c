// Nodes and values of a graph: the public handles that only read.
#include <unordered_set>

#include "host/api/access.h"
#include "host/api/graph_state.h"

namespace epiphyte {
namespace {

// Throws for a call on an empty handle.
[[noreturn]] void FailEmpty(std::string_view what) {
  throw Error(StatusCode::kInvalidArgument, "an empty " + std::string(what) + " was asked about; check it before");
}

std::optional<AttributeValue> ToValue(const core::Attribute& attribute) {
  switch (attribute.type()) {
    case core::AttributeType::kInt: return attribute.i();
    case core::AttributeType::kFloat: return attribute.f();
    case core::AttributeType::kString: return attribute.s();
    case core::AttributeType::kInts: return attribute.ints();
    case core::AttributeType::kFloats: return attribute.floats();
    case core::AttributeType::kStrings: return attribute.strings();
    case core::AttributeType::kTensor: return Access::Wrap(core::Value::FromConstant(attribute.t()));
    default: return std::nullopt;
  }
}

template <typename Answer>
auto AskValue(const std::shared_ptr<GraphState>& state, size_t index, Answer&& answer) {
  if (state == nullptr) FailEmpty("value");
  return WithPublicErrors([&] { return answer(state->ValueAt(index)); });
}

template <typename Answer>
auto AskNode(const std::shared_ptr<GraphState>& state, size_t index, Answer&& answer) {
  if (state == nullptr) FailEmpty("node");
  return WithPublicErrors([&] { return answer(state->NodeAt(index)); });
}

}  // namespace

// --- values

bool GraphValue::Same(const GraphValue& other) const {
  if (state_ != other.state_) return false;
  return state_ == nullptr || state_->SameValue(index_, other.index_);
}

std::string GraphValue::name() const {
  return AskValue(state_, index_, [](const core::ValueDef& value) { return value.name(); });
}

TypeInfo GraphValue::type() const {
  return AskValue(state_, index_, [](const core::ValueDef& value) { return Access::Wrap(value.type()); });
}

bool GraphValue::is_input() const {
  return AskValue(state_, index_, [](const core::ValueDef& value) { return value.IsInput(); });
}

bool GraphValue::is_output() const {
  return AskValue(state_, index_, [](const core::ValueDef& value) { return value.IsOutput(); });
}

bool GraphValue::is_constant() const {
  return AskValue(state_, index_, [](const core::ValueDef& value) { return value.ResolvedConstant() != nullptr; });
}

Value GraphValue::constant() const {
  return AskValue(state_, index_, [](const core::ValueDef& value) {
    const core::ConstantPtr& constant = value.ResolvedConstant();
    return constant == nullptr ? Value() : Access::Wrap(core::Value::FromConstant(constant));
  });
}

GraphNode GraphValue::producer() const {
  return AskValue(state_, index_, [this](const core::ValueDef& value) { return state_->HandleOf(value.producer()); });
}

std::vector<GraphNode> GraphValue::consumers() const {
  return AskValue(state_, index_, [this](const core::ValueDef& value) {
    std::vector<GraphNode> nodes;
    std::unordered_set<const core::Node*> seen;
    for (core::Node* node : value.consumers()) {
      if (seen.insert(node).second) nodes.push_back(state_->HandleOf(node));
    }
    return nodes;
  });
}

// --- nodes

bool GraphNode::Same(const GraphNode& other) const {
  if (state_ != other.state_) return false;
  return state_ == nullptr || state_->SameNode(index_, other.index_);
}

std::string GraphNode::name() const {
  return AskNode(state_, index_, [](const core::Node& node) { return node.name(); });
}

std::string GraphNode::op_type() const {
  return AskNode(state_, index_, [](const core::Node& node) { return node.op_type(); });
}

std::string GraphNode::domain() const {
  return AskNode(state_, index_, [](const core::Node& node) { return node.domain(); });
}

int64_t GraphNode::since_version() const {
  return AskNode(state_, index_, [](const core::Node& node) { return node.since_version(); });
}

bool GraphNode::has_bodies() const {
  return AskNode(state_, index_, [](const core::Node& node) { return !node.subgraphs().empty(); });
}

std::vector<GraphValue> GraphNode::inputs() const {
  return AskNode(state_, index_, [this](const core::Node& node) { return state_->HandlesOf(node.inputs()); });
}

std::vector<GraphValue> GraphNode::outputs() const {
  return AskNode(state_, index_, [this](const core::Node& node) { return state_->HandlesOf(node.outputs()); });
}

GraphValue GraphNode::input(size_t index) const {
  return AskNode(state_, index_, [&](const core::Node& node) { return state_->HandleOf(node.input(index)); });
}

GraphValue GraphNode::output(size_t index) const {
  return AskNode(state_, index_, [&](const core::Node& node) { return state_->HandleOf(node.output(index)); });
}

std::vector<std::string> GraphNode::attribute_names() const {
  return AskNode(state_, index_, [](const core::Node& node) {
    std::vector<std::string> names;
    for (const auto& attribute : node.attributes()) names.push_back(attribute->name());
    return names;
  });
}

std::optional<AttributeValue> GraphNode::attribute(std::string_view name) const {
  return AskNode(state_, index_, [&](const core::Node& node) {
    const core::Attribute* attribute = node.FindAttribute(name);
    return attribute == nullptr ? std::nullopt : ToValue(*attribute);
  });
}

}  // namespace epiphyte
