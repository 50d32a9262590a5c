// Graph: Clone and Extract.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace epiphyte::core {
namespace {

std::vector<Attribute> CloneAttributes(const Node& node, const Graph::OuterMap& outer) {
  std::vector<Attribute> attributes;
  attributes.reserve(node.attributes().size());
  for (const std::unique_ptr<Attribute>& attribute : node.attributes()) attributes.push_back(attribute->Clone(outer));
  return attributes;
}

template <typename Map>
std::vector<ValueDef*> MapValues(const std::vector<ValueDef*>& values, const Map& map) {
  std::vector<ValueDef*> mapped;
  mapped.reserve(values.size());
  for (ValueDef* value : values) mapped.push_back(value == nullptr ? nullptr : map(value));
  return mapped;
}

void CopyExternal(const ValueDef& from, ValueDef* to) {
  if (from.external != nullptr) to->external = std::make_unique<ExternalLocation>(*from.external);
}

}  // namespace

std::unique_ptr<Graph> Graph::Clone(const OuterMap& outer) const {
  auto copy = std::make_unique<Graph>(name_);
  copy->opsets_ = opsets_;
  copy->values_.reserve(values_.size());
  copy->by_name_.reserve(values_.size());
  std::vector<ValueDef*> copies(values_.size());
  // Stand-ins come first, because they have the names of the outer values. With `outer`, a value of this graph may have
  // the same name and is then renamed.
  for (const std::unique_ptr<ValueDef>& value : values_) {
    if (value == nullptr || value->outer_ == nullptr) continue;
    // Two outer values may be mapped to the same value; both then share one stand-in.
    ValueDef* twin = copy->AddOuterScope(outer ? outer(value->outer_) : value->outer_);
    if (value->type_ != nullptr) twin->type_ = value->type_;
    copies[value->id_] = twin;
  }
  for (const std::unique_ptr<ValueDef>& value : values_) {
    if (value == nullptr || value->outer_ != nullptr) continue;
    ValueDef* twin = copy->NewValue(copy->FreshName(value->name_), value->type_);
    twin->constant_ = value->constant_;
    twin->default_value_ = value->default_value_;
    twin->inferred_type_ = value->inferred_type_;
    CopyExternal(*value, twin);
    copies[value->id_] = twin;
  }
  const auto twin_of = [&](const ValueDef* value) { return copies[value->id_]; };
  copy->SetInputs(MapValues(inputs_, twin_of));
  copy->SetOutputs(MapValues(outputs_, twin_of));
  copy->nodes_.reserve(node_count_);
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (node == nullptr) continue;
    Node* twin = copy->AddNode(node->op_type(), node->domain(), node->since_version_, MapValues(node->inputs_, twin_of),
                               MapValues(node->outputs_, twin_of), CloneAttributes(*node, twin_of), node->name_);
    twin->provider = node->provider;
  }
  copy->Finalize();
  return copy;
}

std::unique_ptr<Graph> Graph::Extract(std::span<Node* const> nodes, std::string name, Boundary* boundary) const {
  auto part = std::make_unique<Graph>(std::move(name));
  part->opsets_ = opsets_;
  std::vector<Node*> order(nodes.begin(), nodes.end());
  std::sort(order.begin(), order.end(), [](const Node* a, const Node* b) { return a->id_ < b->id_; });
  const std::unordered_set<const Node*> inside(order.begin(), order.end());
  std::unordered_map<const ValueDef*, ValueDef*> twins;
  twins.reserve(2 * order.size());
  part->by_name_.reserve(2 * order.size());
  part->nodes_.reserve(order.size());
  Boundary found;

  for (const Node* node : order) {
    for (ValueDef* value : node->outputs_) {
      if (value == nullptr) continue;
      twins[value] = part->NewValue(value->name_, value->type_);
      const bool leaves = value->IsOutput() || std::any_of(value->consumers_.begin(), value->consumers_.end(),
                                                           [&](const Node* user) { return !inside.contains(user); });
      if (leaves) found.outputs.push_back(value);
    }
  }
  const auto import = [&](ValueDef* value) {
    if (value == nullptr || twins.contains(value)) return;
    if (const ConstantPtr& constant = value->ResolvedConstant()) {
      ValueDef* twin = part->AddConstant(value->name_, constant);
      const ValueDef* origin = value;
      while (origin->outer_ != nullptr) origin = origin->outer_;
      CopyExternal(*origin, twin);
      twins[value] = twin;
    } else {
      twins[value] = part->AddInput(value->name_, value->type_);
      found.inputs.push_back(value);
    }
  };
  for (const Node* node : order) {
    for (ValueDef* value : node->inputs_) import(value);
    for (ValueDef* value : node->implicit_inputs_) import(value);
  }

  const auto twin_of = [&](const ValueDef* value) { return twins.at(value); };
  part->SetOutputs(MapValues(found.outputs, twin_of));
  for (const Node* node : order) {
    part->AddNode(node->op_type(), node->domain(), node->since_version_, MapValues(node->inputs_, twin_of),
                  MapValues(node->outputs_, twin_of), CloneAttributes(*node, twin_of), node->name_);
  }
  part->Finalize();
  if (boundary != nullptr) *boundary = std::move(found);
  return part;
}

}  // namespace epiphyte::core
