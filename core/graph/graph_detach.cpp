// Graph: Detach.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/graph/graph.h"

namespace epiphyte::core {

void Graph::MoveValueTo(Graph* target, ValueDef* value) {
  target->by_name_.insert(by_name_.extract(value->name_));
  std::unique_ptr<ValueDef> moved = std::move(values_[value->id_]);
  --value_count_;
  moved->graph_ = target;
  moved->id_ = static_cast<uint32_t>(target->values_.size());
  target->values_.push_back(std::move(moved));
  ++target->value_count_;
}

void Graph::ReplaceUse(Node* node, uint32_t slot, ValueDef* from, ValueDef* to) {
  if ((slot & kImplicitSlot) != 0) {
    ReplaceImplicitInput(node, from, to);
    return;
  }
  RemoveUse(from, node, slot);
  node->inputs_[slot] = to;
  AddUse(to, node, slot);
}

std::unique_ptr<Graph> Graph::Detach(std::span<Node* const> nodes, std::string name, Boundary* boundary) {
  auto owner = std::make_unique<Graph>(std::move(name));
  Graph* part = owner.get();
  part->opsets_ = opsets_;
  std::vector<Node*> order(nodes.begin(), nodes.end());
  std::sort(order.begin(), order.end(), [](const Node* a, const Node* b) { return a->id_ < b->id_; });
  // From here on nodes that belong to `part` count as inside.
  for (Node* node : order) node->graph_ = part;
  const auto used_only_inside = [part](const ValueDef* value) {
    return !value->IsOutput() && std::all_of(value->consumers_.begin(), value->consumers_.end(),
                                             [part](const Node* user) { return user->graph_ == part; });
  };
  Boundary found;

  std::vector<ValueDef*> part_outputs;
  for (Node* node : order) {
    for (uint32_t i = 0; i < node->outputs_.size(); ++i) {
      ValueDef* value = node->outputs_[i];
      if (value == nullptr) continue;
      if (used_only_inside(value)) {
        MoveValueTo(part, value);
        continue;
      }
      ValueDef* twin = part->NewValue(value->name_, value->type_);
      value->producer_ = nullptr;
      twin->producer_ = node;
      twin->producer_output_ = i;
      node->outputs_[i] = twin;
      found.outputs.push_back(value);
      part_outputs.push_back(twin);
      // Backwards, because removing a use moves a later entry, already visited, into its position.
      for (size_t k = value->consumers_.size(); k-- > 0;) {
        if (value->consumers_[k]->graph_ == part) ReplaceUse(value->consumers_[k], value->slots_[k], value, twin);
      }
    }
  }

  std::unordered_map<const ValueDef*, ValueDef*> twins;
  const auto import = [&](ValueDef* value) -> ValueDef* {
    if (value == nullptr || value->graph_ == part) return value;
    ValueDef*& twin = twins[value];
    if (twin != nullptr) return twin;
    if (const ConstantPtr& constant = value->ResolvedConstant(); constant == nullptr) {
      twin = part->AddInput(value->name_, value->type_);
      found.inputs.push_back(value);
    } else if (value->IsConstant() && used_only_inside(value)) {
      MoveValueTo(part, value);
      twin = value;
    } else {
      twin = part->AddConstant(value->name_, constant);
      const ValueDef* origin = value;
      while (origin->outer_ != nullptr) origin = origin->outer_;
      if (origin->external != nullptr) twin->external = std::make_unique<ExternalLocation>(*origin->external);
    }
    return twin;
  };
  for (Node* node : order) {
    for (uint32_t i = 0; i < node->inputs_.size(); ++i) {
      ValueDef* value = node->inputs_[i];
      if (ValueDef* twin = import(value); twin != value) ReplaceUse(node, i, value, twin);
    }
    const std::vector<ValueDef*> implicit_inputs = node->implicit_inputs_;
    for (ValueDef* value : implicit_inputs) {
      if (ValueDef* twin = import(value); twin != value) ReplaceImplicitInput(node, value, twin);
    }
  }

  part->nodes_.reserve(order.size());
  for (Node* node : order) {
    node->op_type_ = part->Intern(*node->op_type_);
    node->domain_ = part->Intern(*node->domain_);
    node->provider = kUnplaced;
    std::unique_ptr<Node> moved = std::move(nodes_[node->id_]);
    node->id_ = static_cast<uint32_t>(part->nodes_.size());
    part->nodes_.push_back(std::move(moved));
  }
  node_count_ -= order.size();
  part->node_count_ = order.size();
  part->SetOutputs(std::move(part_outputs));
  part->Finalize();
  if (boundary != nullptr) *boundary = std::move(found);
  return owner;
}

}  // namespace epiphyte::core
