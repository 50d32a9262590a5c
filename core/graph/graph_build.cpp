// Graph: adding and removing values and nodes.
#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace epiphyte::core {
namespace {

bool IsTypeOf(const Type& type, const Constant& constant) {
  if (type.element_type() != constant.type()) return false;
  const Shape& shape = *type.shape();
  return std::equal(shape.begin(), shape.end(), constant.dims().begin(), constant.dims().end(),
                    [](const Dim& dim, int64_t size) { return dim.value == size; });
}

}  // namespace

Graph::Graph(std::string name) : name_(std::move(name)) {}
Graph::~Graph() = default;

void Graph::SetOpset(std::string domain, int64_t version) { opsets_[std::move(domain)] = version; }

int64_t Graph::Opset(std::string_view domain) const {
  for (const auto& [known, version] : opsets_) {
    if (known == domain) return version;
  }
  return 0;
}

const std::string* Graph::Intern(std::string_view text) {
  const auto found = interned_.find(text);
  return found != interned_.end() ? &*found : &*interned_.emplace(text).first;
}

void Graph::CheckMember(const ValueDef* value) const {
  if (value != nullptr && value->graph_ == this) return;
  Fail(StatusCode::kInvalidArgument, "value '{}' does not belong to graph '{}'",
       value == nullptr ? "null" : value->name_, name_);
}

// --- values

ValueDef* Graph::NewValue(std::string name, TypePtr type) {
  if (name.empty()) name = FreshName("value");
  auto value = std::make_unique<ValueDef>();
  value->id_ = static_cast<uint32_t>(values_.size());
  value->name_ = std::move(name);
  value->type_ = std::move(type);
  value->graph_ = this;
  if (!by_name_.try_emplace(value->name_, value.get()).second) {
    Fail(StatusCode::kInvalidGraph, "value '{}' is defined twice in graph '{}'; names must be unique", value->name_,
         name_);
  }
  values_.push_back(std::move(value));
  ++value_count_;
  return values_.back().get();
}

ValueDef* Graph::AddInput(std::string name, TypePtr type) {
  ValueDef* value = NewValue(std::move(name), std::move(type));
  value->is_input_ = true;
  inputs_.push_back(value);
  return value;
}

ValueDef* Graph::AddOverridable(std::string name, ConstantPtr constant) {
  if (constant == nullptr) Fail(StatusCode::kInvalidArgument, "initializer '{}' has no data", name);
  Shape shape(constant->dims().begin(), constant->dims().end());
  ValueDef* value = AddInput(std::move(name), Type::Tensor(constant->type(), std::move(shape)));
  value->default_value_ = std::move(constant);
  return value;
}

ValueDef* Graph::AddConstant(std::string name, ConstantPtr constant) {
  ValueDef* value = NewValue(std::move(name), nullptr);
  SetConstant(value, std::move(constant));
  return value;
}

ValueDef* Graph::AddValue(std::string name, TypePtr type) { return NewValue(std::move(name), std::move(type)); }

ValueDef* Graph::StandInFor(const ValueDef* outer) const {
  ValueDef* value = FindValue(outer->name_);
  return value != nullptr && value->outer_ == outer ? value : nullptr;
}

ValueDef* Graph::AddOuterScope(ValueDef* outer) {
  if (outer == nullptr || outer->graph_ == this || (parent_ != nullptr && outer->graph_ != parent_->graph_)) {
    Fail(StatusCode::kInvalidArgument, "outer-scope value '{}' is not of the graph around '{}'",
         outer == nullptr ? "null" : outer->name_, name_);
  }
  if (ValueDef* existing = StandInFor(outer)) return existing;
  ValueDef* value = NewValue(outer->name_, outer->type_);
  value->outer_ = outer;
  if (parent_ != nullptr) AddImplicitInput(parent_, outer);
  return value;
}

ValueDef* Graph::FindValue(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::string Graph::FreshName(std::string_view stem) const {
  const auto is_free = [this](std::string_view name) {
    for (const Graph* graph = this; graph != nullptr; graph = graph->parent_ ? graph->parent_->graph_ : nullptr) {
      if (graph->by_name_.contains(name)) return false;
    }
    return true;
  };
  std::string name(stem.empty() ? "value" : stem);
  while (!is_free(name)) name = fmt::format("{}_{}", stem.empty() ? "value" : stem, next_fresh_++);
  return name;
}

void Graph::SetConstant(ValueDef* value, ConstantPtr constant) {
  CheckMember(value);
  if (value->producer_ != nullptr || value->is_input_ || value->outer_ != nullptr) {
    Fail(StatusCode::kInvalidGraph, "value '{}' is a constant and also {}", value->name_,
         value->producer_ != nullptr ? "the output of a node" : "an input");
  }
  if (constant == nullptr) Fail(StatusCode::kInvalidArgument, "constant '{}' has no data", value->name_);
  if (last_constant_type_ == nullptr || !IsTypeOf(*last_constant_type_, *constant)) {
    last_constant_type_ = Type::Tensor(constant->type(), Shape(constant->dims().begin(), constant->dims().end()));
  }
  value->type_ = last_constant_type_;
  value->constant_ = std::move(constant);
}

void Graph::RemoveValue(ValueDef* value) {
  CheckMember(value);
  if (value->producer_ != nullptr || !value->consumers_.empty() || value->IsOutput() || value->is_input_) {
    Fail(StatusCode::kInvalidArgument, "value '{}' is still in use and can't be removed", value->name_);
  }
  if (value->outer_ != nullptr && parent_ != nullptr) {
    ValueDef* outer = std::exchange(value->outer_, nullptr);
    if (!HasStandIn(*parent_, outer)) RemoveImplicitInput(parent_, outer);
  }
  by_name_.erase(value->name_);
  --value_count_;
  values_[value->id_].reset();
}

void Graph::SetInputs(std::vector<ValueDef*> inputs) {
  for (const ValueDef* value : inputs) {
    CheckMember(value);
    if (value->producer_ != nullptr || value->IsConstant() || value->outer_ != nullptr) {
      Fail(StatusCode::kInvalidGraph, "input '{}' of graph '{}' is also a constant or the output of a node",
           value->name_, name_);
    }
  }
  for (ValueDef* value : std::exchange(inputs_, {})) value->is_input_ = false;
  for (ValueDef* value : inputs) {
    if (value->is_input_)
      Fail(StatusCode::kInvalidGraph, "input '{}' of graph '{}' is listed twice", value->name_, name_);
    value->is_input_ = true;
    inputs_.push_back(value);
  }
}

void Graph::SetOutputs(std::vector<ValueDef*> outputs) {
  for (const ValueDef* value : outputs) CheckMember(value);
  for (ValueDef* value : outputs_) --value->output_uses_;
  for (ValueDef* value : outputs) ++value->output_uses_;
  outputs_ = std::move(outputs);
}

// --- nodes

Node* Graph::AddNode(std::string_view op_type, std::string_view domain, int64_t since_version,
                     std::vector<ValueDef*> inputs, std::vector<ValueDef*> outputs, std::vector<Attribute> attributes,
                     std::string name) {
  for (const ValueDef* value : inputs) {
    if (value != nullptr) CheckMember(value);
  }
  for (const ValueDef* value : outputs) {
    if (value == nullptr) continue;
    CheckMember(value);
    if (value->is_input_ || value->IsConstant() || value->outer_ != nullptr) {
      Fail(StatusCode::kInvalidGraph, "value '{}' is an output of {} node '{}' and also an input or a constant",
           value->name_, op_type, name);
    }
  }
  for (const Attribute& attribute : attributes) CheckSubgraphs(attribute);

  auto node = std::make_unique<Node>();
  node->id_ = static_cast<uint32_t>(nodes_.size());
  node->since_version_ = since_version;
  node->op_type_ = Intern(op_type);
  node->domain_ = Intern(domain);
  node->name_ = std::move(name);
  node->graph_ = this;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    ValueDef* value = outputs[i];
    if (value == nullptr) continue;
    if (value->producer_ != nullptr) {
      const std::string other = value->producer_->name_;
      for (uint32_t j = 0; j < i; ++j) {
        if (outputs[j] != nullptr) outputs[j]->producer_ = nullptr;
      }
      Fail(StatusCode::kInvalidGraph, "value '{}' is produced by node '{}' and again by {} node '{}'", value->name_,
           other, op_type, node->name_);
    }
    value->producer_ = node.get();
    value->producer_output_ = i;
  }
  node->outputs_ = std::move(outputs);
  node->inputs_ = std::move(inputs);
  node->input_positions_.resize(node->inputs_.size());
  for (uint32_t i = 0; i < node->inputs_.size(); ++i) AddUse(node->inputs_[i], node.get(), i);
  node->attributes_.reserve(attributes.size());
  for (Attribute& attribute : attributes) {
    node->attributes_.push_back(std::make_unique<Attribute>(std::move(attribute)));
    AdoptSubgraphs(node.get(), *node->attributes_.back());
  }
  nodes_.push_back(std::move(node));
  ++node_count_;
  return nodes_.back().get();
}

void Graph::RemoveNode(Node* node) {
  for (uint32_t i = 0; i < node->inputs_.size(); ++i) RemoveUse(node->inputs_[i], node, i);
  for (uint32_t i = 0; i < node->implicit_inputs_.size(); ++i) {
    RemoveUse(node->implicit_inputs_[i], node, i | kImplicitSlot);
  }
  for (ValueDef* value : node->outputs_) {
    if (value != nullptr) value->producer_ = nullptr;
  }
  --node_count_;
  nodes_[node->id_].reset();
}

void Graph::CheckSubgraphs(const Attribute& attribute) const {
  for (const std::unique_ptr<Graph>& body : attribute.graphs()) {
    for (const std::unique_ptr<ValueDef>& value : body->values_) {
      if (value != nullptr && value->outer_ != nullptr) CheckMember(value->outer_);
    }
  }
}

void Graph::AdoptSubgraphs(Node* node, const Attribute& attribute) {
  for (const std::unique_ptr<Graph>& body : attribute.graphs()) {
    body->parent_ = node;
    node->subgraphs_.push_back(body.get());
    for (const std::unique_ptr<ValueDef>& value : body->values_) {
      if (value != nullptr && value->outer_ != nullptr) AddImplicitInput(node, value->outer_);
    }
  }
}

void Graph::ReleaseSubgraphs(Node* node, const Attribute& attribute) {
  for (const std::unique_ptr<Graph>& body : attribute.graphs()) {
    body->parent_ = nullptr;
    std::erase(node->subgraphs_, body.get());
  }
  for (const std::unique_ptr<Graph>& body : attribute.graphs()) {
    for (const std::unique_ptr<ValueDef>& value : body->values_) {
      if (value == nullptr || value->outer_ == nullptr) continue;
      if (!HasStandIn(*node, value->outer_)) RemoveImplicitInput(node, value->outer_);
    }
  }
}

}  // namespace epiphyte::core
