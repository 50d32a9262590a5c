// Graph: topological order and Finalize.
#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace epiphyte::core {
namespace {

template <typename Visit>
void ForEachProducer(const Node& node, Visit visit) {
  for (const ValueDef* value : node.inputs()) {
    if (value != nullptr && value->producer() != nullptr) visit(value->producer());
  }
  for (const ValueDef* value : node.implicit_inputs()) {
    if (value->producer() != nullptr) visit(value->producer());
  }
}

// A node that can never become ready has an input with the same property. Following such inputs leads to a cycle.
const Node* NodeOnCycle(const Node* start, const std::vector<uint32_t>& waiting) {
  std::unordered_set<const Node*> seen;
  const Node* node = start;
  while (seen.insert(node).second) {
    const Node* next = nullptr;
    ForEachProducer(*node, [&](const Node* producer) {
      if (next == nullptr && waiting[producer->id()] > 0) next = producer;
    });
    node = next;
  }
  return node;
}

}  // namespace

std::vector<Node*> Graph::TopologicalOrder() const {
  std::vector<Node*> order;
  order.reserve(node_count_);
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (node == nullptr) continue;
    bool sorted = true;
    ForEachProducer(*node, [&](const Node* producer) { sorted &= producer->id_ < node->id_; });
    if (!sorted) return KahnOrder();
    order.push_back(node.get());
  }
  return order;
}

std::vector<Node*> Graph::KahnOrder() const {
  std::vector<uint32_t> waiting(nodes_.size(), 0);
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (node == nullptr) continue;
    ForEachProducer(*node, [&](const Node*) { ++waiting[node->id_]; });
    if (waiting[node->id_] == 0) ready.push(node->id_);
  }
  std::vector<Node*> order;
  order.reserve(node_count_);
  while (!ready.empty()) {
    Node* node = nodes_[ready.top()].get();
    ready.pop();
    order.push_back(node);
    for (const ValueDef* output : node->outputs_) {
      if (output == nullptr) continue;
      for (const Node* consumer : output->consumers_) {
        if (--waiting[consumer->id_] == 0) ready.push(consumer->id_);
      }
    }
  }
  if (order.size() == node_count_) return order;
  const auto stuck = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const auto& node) { return node != nullptr && waiting[node->id_] > 0; });
  const Node* node = NodeOnCycle(stuck->get(), waiting);
  Fail(StatusCode::kInvalidGraph, "graph '{}' has a cycle through {} node '{}'; a model must be acyclic", name_,
       node->op_type(), node->name_);
}

void Graph::DropUnreferencedValues() {
  for (const std::unique_ptr<ValueDef>& value : values_) {
    if (value == nullptr || value->producer_ != nullptr || value->is_input_ || value->IsConstant()) continue;
    if (value->consumers_.empty() && !value->IsOutput()) RemoveValue(value.get());
  }
}

void Graph::Finalize() {
  // Nested graphs come first: removing their stand-ins removes implicit inputs here.
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (node == nullptr) continue;
    for (Graph* body : node->subgraphs_) body->Finalize();
  }
  const std::vector<Node*> order = TopologicalOrder();
  for (std::unique_ptr<Node>& node : nodes_) static_cast<void>(node.release());
  nodes_.resize(order.size());
  nodes_.shrink_to_fit();
  abi_nodes_.resize(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    nodes_[i].reset(order[i]);
    order[i]->id_ = i;
    abi_nodes_[i] = ToAbi(order[i]);
  }

  DropUnreferencedValues();
  std::erase(values_, nullptr);
  abi_constants_.clear();
  for (uint32_t i = 0; i < values_.size(); ++i) {
    values_[i]->id_ = i;
    if (values_[i]->IsConstant()) abi_constants_.push_back(ToAbi(values_[i].get()));
  }

  opset_domains_.clear();
  opset_versions_.clear();
  for (const auto& [domain, version] : opsets_) {
    opset_domains_.push_back(domain.c_str());
    opset_versions_.push_back(version);
  }
}

}  // namespace epiphyte::core
