#include "core/transform/node_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/graph_path.h"

namespace epiphyte::core {

std::string_view RemovalReasonName(RemovalReason reason) {
  switch (reason) {
    case RemovalReason::kFolded: return "folded";
    case RemovalReason::kMerged: return "merged";
    case RemovalReason::kForwarded: return "bypassed";
    case RemovalReason::kDead: return "dead";
    case RemovalReason::kInlined: return "inlined";
    case RemovalReason::kDecided: return "decided";
    case RemovalReason::kDeadBranch: return "untaken";
    case RemovalReason::kRewritten: return "rewritten";
  }
  return "";
}

std::string RemovedNode::Describe() const {
  switch (reason) {
    case RemovalReason::kFolded: return fmt::format("folded into constant '{}'", into);
    case RemovalReason::kMerged: return fmt::format("merged with node '{}'", into);
    case RemovalReason::kForwarded: return fmt::format("bypassed: gives its input '{}' on", into);
    case RemovalReason::kDead: return "dead: no output depends on it";
    case RemovalReason::kInlined: return "inlined: the nodes of its function took its place";
    case RemovalReason::kDecided:
      return into.empty() ? "decided before the run: its body never runs"
                          : fmt::format("decided before the run: the nodes of '{}' took its place", into);
    case RemovalReason::kDeadBranch: return fmt::format("untaken: '{}' never runs it", into);
    case RemovalReason::kRewritten: return fmt::format("rewritten by '{}'", into);
  }
  return {};
}

std::string ReportedName(const Node& node) {
  if (!node.name().empty()) return node.name();
  for (const ValueDef* output : node.outputs()) {
    if (output != nullptr) return output->name();
  }
  return {};
}

void NodeHistory::Removed(const Node& node, RemovalReason reason, std::string into) {
  if (const auto absorbed = absorbed_.find(&node); absorbed != absorbed_.end()) {
    if (reason == RemovalReason::kDead) {
      reason = RemovalReason::kMerged;
      into = std::move(absorbed->second);
    }
    absorbed_.erase(absorbed);
  }
  removed_.push_back({PathOf(node.graph()), node.name(), node.op_type(), node.domain(), reason, into});
  addresses_.push_back(&node);
  for (const Graph* body : node.subgraphs()) RemovedWithin(*body, reason, into);
}

void NodeHistory::RemovedWithin(const Graph& body, RemovalReason reason, const std::string& into) {
  for (const std::unique_ptr<Node>& inner : body.nodes()) {
    if (inner != nullptr) Removed(*inner, reason, into);
  }
}

void NodeHistory::Decided(const Node& node, std::string_view runs) {
  absorbed_.erase(&node);
  removed_.push_back(
      {PathOf(node.graph()), node.name(), node.op_type(), node.domain(), RemovalReason::kDecided, std::string(runs)});
  addresses_.push_back(&node);
  for (const std::unique_ptr<Attribute>& attribute : node.attributes()) {
    if (attribute->name() == runs) continue;
    for (const std::unique_ptr<Graph>& body : attribute->graphs())
      RemovedWithin(*body, RemovalReason::kDeadBranch, ReportedName(node));
  }
}

void NodeHistory::Rewritten(RemovedNode node) {
  removed_.push_back(std::move(node));
  addresses_.push_back(nullptr);
}

void NodeHistory::Absorbed(const Node& node, const Node& by) { absorbed_[&node] = ReportedName(by); }

bool NodeHistory::Knows(const Node* node, size_t since) const {
  return std::find(addresses_.begin() + static_cast<ptrdiff_t>(since), addresses_.end(), node) != addresses_.end();
}

std::vector<RemovedNode> NodeHistory::Take() {
  addresses_.clear();
  absorbed_.clear();
  return std::exchange(removed_, {});
}

NodesBefore::NodesBefore(const Graph& graph, NodeHistory* history)
    : history_(history), told_(history == nullptr ? 0 : history->size()) {
  if (history == nullptr) return;
  const std::string path = PathOf(graph);
  nodes_.reserve(graph.nodes().size());
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    nodes_.push_back({node.get(), {}});
    if (node != nullptr) nodes_.back().label = {path, node->name(), node->op_type(), node->domain()};
  }
}

void NodesBefore::TellRemoved(const Graph& graph, std::string_view by) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const bool removed = nodes_[i].node != nullptr && graph.nodes()[i].get() != nodes_[i].node;
    if (!removed || history_->Knows(nodes_[i].node, told_)) continue;
    nodes_[i].label.reason = RemovalReason::kRewritten;
    nodes_[i].label.into = by;
    history_->Rewritten(std::move(nodes_[i].label));
  }
}

}  // namespace epiphyte::core
