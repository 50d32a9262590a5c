// Graph: which node uses which value, and how uses move from one value to another.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

uint32_t& Graph::PositionOf(Node* node, uint32_t slot) {
  return (slot & kImplicitSlot) != 0 ? node->implicit_positions_[slot & ~kImplicitSlot] : node->input_positions_[slot];
}

void Graph::AddUse(ValueDef* value, Node* node, uint32_t slot) {
  if (value == nullptr) return;
  PositionOf(node, slot) = static_cast<uint32_t>(value->consumers_.size());
  value->consumers_.push_back(node);
  value->slots_.push_back(slot);
}

void Graph::RemoveUse(ValueDef* value, Node* node, uint32_t slot) {
  if (value == nullptr) return;
  const uint32_t position = PositionOf(node, slot);
  const size_t last = value->consumers_.size() - 1;
  if (position != last) {
    value->consumers_[position] = value->consumers_[last];
    value->slots_[position] = value->slots_[last];
    PositionOf(value->consumers_[position], value->slots_[position]) = position;
  }
  value->consumers_.pop_back();
  value->slots_.pop_back();
}

// --- implicit inputs form a set: a node has one use of a value, however many of its nested graphs read it

uint32_t Graph::FindImplicitInput(const Node& node, const ValueDef* value) {
  // Both lists contain the answer; the shorter one is searched.
  if (node.implicit_inputs_.size() <= value->consumers_.size()) {
    const auto found = std::find(node.implicit_inputs_.begin(), node.implicit_inputs_.end(), value);
    return static_cast<uint32_t>(found - node.implicit_inputs_.begin());
  }
  for (size_t i = 0; i < value->consumers_.size(); ++i) {
    if (value->consumers_[i] == &node && (value->slots_[i] & kImplicitSlot) != 0)
      return value->slots_[i] & ~kImplicitSlot;
  }
  return static_cast<uint32_t>(node.implicit_inputs_.size());
}

bool Graph::HasStandIn(const Node& node, const ValueDef* value) {
  return std::any_of(node.subgraphs_.begin(), node.subgraphs_.end(),
                     [value](const Graph* body) { return body->StandInFor(value) != nullptr; });
}

void Graph::AddImplicitInput(Node* node, ValueDef* value) {
  const uint32_t index = FindImplicitInput(*node, value);
  if (index < node->implicit_inputs_.size()) return;
  node->implicit_inputs_.push_back(value);
  node->implicit_positions_.push_back(0);
  AddUse(value, node, index | kImplicitSlot);
}

void Graph::RemoveImplicitInput(Node* node, ValueDef* value) {
  const uint32_t index = FindImplicitInput(*node, value);
  if (index == node->implicit_inputs_.size()) return;
  RemoveUse(value, node, index | kImplicitSlot);
  const size_t last = node->implicit_inputs_.size() - 1;
  if (index != last) {
    ValueDef* moved = node->implicit_inputs_[last];
    const uint32_t position = node->implicit_positions_[last];
    moved->slots_[position] = index | kImplicitSlot;
    node->implicit_inputs_[index] = moved;
    node->implicit_positions_[index] = position;
  }
  node->implicit_inputs_.pop_back();
  node->implicit_positions_.pop_back();
}

void Graph::ReplaceImplicitInput(Node* node, ValueDef* from, ValueDef* to) {
  for (Graph* body : node->subgraphs_) {
    ValueDef* stand_in = body->StandInFor(from);
    if (stand_in == nullptr) continue;
    if (ValueDef* existing = body->StandInFor(to)) {
      body->ReplaceAllUses(stand_in, existing);
      stand_in->outer_ = nullptr;
      body->RemoveValue(stand_in);
    } else {
      stand_in->outer_ = to;
      body->Rename(stand_in, to->name_);
    }
  }
  const uint32_t index = FindImplicitInput(*node, from);
  if (FindImplicitInput(*node, to) < node->implicit_inputs_.size()) {
    RemoveImplicitInput(node, from);
  } else if (index < node->implicit_inputs_.size()) {
    RemoveUse(from, node, index | kImplicitSlot);
    node->implicit_inputs_[index] = to;
    AddUse(to, node, index | kImplicitSlot);
  }
}

// A stand-in has the name of its outer value. Renaming a value therefore renames its stand-ins in nested graphs.
void Graph::Rename(ValueDef* value, std::string name) {
  if (value->name_ == name) return;
  if (ValueDef* holder = FindValue(name)) Rename(holder, FreshName(name));
  std::vector<ValueDef*> stand_ins;
  for (size_t i = 0; i < value->consumers_.size(); ++i) {
    if ((value->slots_[i] & kImplicitSlot) == 0) continue;
    for (const Graph* body : value->consumers_[i]->subgraphs_) {
      if (ValueDef* stand_in = body->StandInFor(value)) stand_ins.push_back(stand_in);
    }
  }
  by_name_.erase(value->name_);
  value->name_ = std::move(name);
  by_name_.emplace(value->name_, value);
  for (ValueDef* stand_in : stand_ins) stand_in->graph_->Rename(stand_in, value->name_);
}

// --- edits

void Graph::ReplaceInput(Node* node, size_t index, ValueDef* value) {
  if (value != nullptr) CheckMember(value);
  if (index >= node->inputs_.size()) {
    node->inputs_.resize(index + 1);
    node->input_positions_.resize(index + 1);
  }
  const auto slot = static_cast<uint32_t>(index);
  RemoveUse(node->inputs_[index], node, slot);
  node->inputs_[index] = value;
  AddUse(value, node, slot);
  while (!node->inputs_.empty() && node->inputs_.back() == nullptr) {
    node->inputs_.pop_back();
    node->input_positions_.pop_back();
  }
}

void Graph::ReplaceAllUses(ValueDef* from, ValueDef* to) {
  CheckMember(from);
  CheckMember(to);
  if (from == to) return;
  // Backwards, because removing a use moves a later entry, already visited, into its position.
  for (size_t i = from->consumers_.size(); i-- > 0;) {
    if ((from->slots_[i] & kImplicitSlot) != 0) ReplaceImplicitInput(from->consumers_[i], from, to);
  }
  for (size_t i = 0; i < from->consumers_.size(); ++i) {
    from->consumers_[i]->inputs_[from->slots_[i]] = to;
    AddUse(to, from->consumers_[i], from->slots_[i]);
  }
  from->consumers_.clear();
  from->slots_.clear();
  if (!from->IsOutput()) return;
  std::replace(outputs_.begin(), outputs_.end(), from, to);
  to->output_uses_ += std::exchange(from->output_uses_, 0);
}

void Graph::ReplaceOutput(Node* node, size_t index, ValueDef* value) {
  if (index >= node->outputs_.size()) {
    Fail(StatusCode::kInvalidArgument, "{} node '{}' has {} outputs, output {} does not exist", node->op_type(),
         node->name_, node->outputs_.size(), index);
  }
  if (value != nullptr) {
    CheckMember(value);
    if (value->producer_ != nullptr || value->is_input_ || value->IsConstant() || value->outer_ != nullptr) {
      Fail(StatusCode::kInvalidGraph, "value '{}' has a producer already", value->name_);
    }
    value->producer_ = node;
    value->producer_output_ = static_cast<uint32_t>(index);
  }
  if (ValueDef* old = std::exchange(node->outputs_[index], value)) old->producer_ = nullptr;
}

}  // namespace epiphyte::core
