#include "host/api/graph_state.h"

#include <utility>

#include "core/base/error.h"

namespace epiphyte {
namespace {

using core::Fail;
using Code = core::StatusCode;

// Limits for additions by one transform: far more than any rewrite needs, but too few to exhaust a machine's memory.
constexpr size_t kMostAdditions = 65536;
constexpr size_t kMostAdditionsPerNode = 64;

}  // namespace

GraphState::GraphState(core::Graph& graph, std::string transform)
    : graph_(&graph), transform_(std::move(transform)), nodes_before_(graph.node_count()) {}

GraphNode GraphState::HandleOf(core::Node* node) {
  if (node == nullptr) return {};
  const auto [found, is_new] = node_index_.try_emplace(node, nodes_.size());
  if (is_new) nodes_.push_back(node);
  return GraphNode(shared_from_this(), found->second);
}

GraphValue GraphState::HandleOf(core::ValueDef* value) {
  if (value == nullptr) return {};
  std::vector<size_t>& indices = value_index_[value];
  if (indices.empty()) {
    indices.push_back(values_.size());
    values_.push_back(value);
  }
  return GraphValue(shared_from_this(), indices.front());
}

core::Graph& GraphState::graph() const {
  if (graph_ == nullptr) {
    Fail(Code::kInvalidArgument,
         "a node, value or editor of transform '{}' was used after the call that it was made in; look it up again",
         transform_);
  }
  return *graph_;
}

core::Node& GraphState::NodeAt(size_t index) const {
  graph();
  if (nodes_[index] == nullptr) Fail(Code::kInvalidArgument, "a node was used after it had been removed");
  return *nodes_[index];
}

core::ValueDef& GraphState::ValueAt(size_t index) const {
  graph();
  if (values_[index] == nullptr) {
    Fail(Code::kInvalidArgument, "a value was used after the node that made it had been removed");
  }
  return *values_[index];
}

core::Node& GraphState::Resolve(const GraphNode& node) const {
  if (node.state_ == nullptr) Fail(Code::kInvalidArgument, "an empty node was given, one of the graph expected");
  if (node.state_.get() != this) {
    Fail(Code::kInvalidArgument, "node '{}' is of another graph; look it up in this one",
         node.state_->NodeAt(node.index_).name());
  }
  return NodeAt(node.index_);
}

core::ValueDef& GraphState::Resolve(const GraphValue& value) const {
  if (value.state_ == nullptr) {
    Fail(Code::kInvalidArgument, "an empty value was given, one of the graph expected");
  }
  if (value.state_.get() != this) {
    Fail(Code::kInvalidArgument, "value '{}' is of another graph; look it up in this one",
         value.state_->ValueAt(value.index_).name());
  }
  return ValueAt(value.index_);
}

core::ValueDef* GraphState::ResolveOptional(const GraphValue& value) const { return value ? &Resolve(value) : nullptr; }

void GraphState::Added(core::Node* node) {
  added_.insert(node);
  Changed(node);
  CountEdit();
}

void GraphState::Forget(core::Node* node) {
  added_.erase(node);
  changed_.erase(node);
  const auto found = node_index_.find(node);
  if (found == node_index_.end()) return;
  nodes_[found->second] = nullptr;
  node_index_.erase(found);
}

void GraphState::Forget(core::ValueDef* value, core::ValueDef* successor) {
  const auto found = value_index_.find(value);
  if (found == value_index_.end()) return;
  const std::vector<size_t> indices = std::move(found->second);
  value_index_.erase(found);
  for (const size_t index : indices) values_[index] = successor;
  if (successor == nullptr) return;
  std::vector<size_t>& own = value_index_[successor];
  own.insert(own.end(), indices.begin(), indices.end());
}

void GraphState::TakeRoom() {
  if (++additions_ <= kMostAdditions + kMostAdditionsPerNode * nodes_before_) return;
  Fail(Code::kFail,
       "it was stopped after it had added {} nodes and constants to a graph of {} nodes; make sure that it ends",
       additions_ - 1, nodes_before_);
}

core::GraphChanges GraphState::TakeChanges() {
  return {edits_ != 0, std::vector<const core::Node*>(changed_.begin(), changed_.end())};
}

}  // namespace epiphyte
