// NodeHistory: records why nodes of the model were removed from its graph, for the placement report.
//
//   NodeHistory history;
//   pipeline.Run(graph, level, {.history = &history});
//   for (const RemovedNode& node : history.Take()) std::cout << node.name << ": " << node.Describe() << '\n';
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

enum class RemovalReason {
  kFolded,      // computed before the run
  kMerged,      // another node computes the same result
  kForwarded,   // its output equals its input
  kDead,        // no graph output depends on it
  kInlined,     // function call, replaced by the nodes of the function body
  kDecided,     // control flow with a known decision, replaced by the nested graph that runs
  kDeadBranch,  // inside a nested graph that never runs
  kRewritten,   // by a transform that doesn't record reasons
};
// "folded", "merged", …
std::string_view RemovalReasonName(RemovalReason reason);

struct RemovedNode {
  std::string graph;  // path of nested graphs, as in NodePlacement
  std::string name;
  std::string op_type;
  std::string domain;
  RemovalReason reason = RemovalReason::kDead;
  // Depends on the reason: the constant, the merged node, the forwarded value, the transform, the nested graph that
  // replaced it, or the control-flow node of the dead branch. "" for other reasons.
  std::string into;

  // "merged with node 'x'"
  std::string Describe() const;
};

// Thread-compatible.
class NodeHistory {
 public:
  // Call before the node is removed from its graph. Nodes of its nested graphs are recorded too.
  void Removed(const Node& node, RemovalReason reason, std::string into = {});
  // Records control flow that runs one nested graph exactly once, or none. `runs` is the attribute of that nested
  // graph; "" when none runs. Nodes of that graph replace `node`; nodes of the other nested graphs are recorded as
  // removed.
  void Decided(const Node& node, std::string_view runs);
  // Records a node that is removed already.
  void Rewritten(RemovedNode node);
  // Records that `by` now does the work of `node` for its own input. If `node` is later removed because nothing reads
  // it, its reason is kMerged, not kDead.
  void Absorbed(const Node& node, const Node& by);

  size_t size() const { return removed_.size(); }
  // Whether the node at this address is in entry `since` or a later one.
  bool Knows(const Node* node, size_t since) const;
  std::vector<RemovedNode> Take();

 private:
  void RemovedWithin(const Graph& body, RemovalReason reason, const std::string& into);

  std::vector<RemovedNode> removed_;
  std::vector<const Node*> addresses_;  // addresses of removed_, for comparison only; never dereferenced
  std::unordered_map<const Node*, std::string> absorbed_;
};

// The nodes of a graph before a transform runs that doesn't record its removals. Costs time proportional to the graph.
class NodesBefore {
 public:
  // `history` null: nothing is recorded.
  NodesBefore(const Graph& graph, NodeHistory* history);

  // Records the nodes that have disappeared without an entry as rewritten by `by`. Call before the graph is finalized.
  void TellRemoved(const Graph& graph, std::string_view by);

 private:
  struct Known {
    const Node* node;
    RemovedNode label;
  };
  NodeHistory* history_;
  size_t told_;
  std::vector<Known> nodes_;
};

// The name of a node in reports: its own name, or the name of its first output if it has none.
std::string ReportedName(const Node& node);

}  // namespace epiphyte::core
