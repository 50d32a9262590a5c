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
  kMerged,      // another node computes what it did
  kForwarded,   // its result was its input
  kDead,        // no output depends on it
  kInlined,     // a function's call; the nodes of its body took its place
  kDecided,     // control flow that is known before the run: what it runs took its place
  kDeadBranch,  // in a nested graph of such, and never run
  kRewritten,   // by a transform that doesn't tell more
};
// "folded", "merged", …
std::string_view RemovalReasonName(RemovalReason reason);

struct RemovedNode {
  std::string graph;  // path of nested graphs, as in NodePlacement
  std::string name;
  std::string op_type;
  std::string domain;
  RemovalReason reason = RemovalReason::kDead;
  // The constant, the node, the value instead, the transform, the nested graph that took its place, or the node that
  // never ran it; else "".
  std::string into;

  // "merged with node 'x'"
  std::string Describe() const;
};

// Thread-compatible.
class NodeHistory {
 public:
  // Called before the node is taken out of its graph. The nodes of its nested graphs go with it.
  void Removed(const Node& node, RemovalReason reason, std::string into = {});
  // Control flow of which only the nested graph of attribute `runs` would run, once, or none with "". The nodes of that
  // one take its place; those of the others go.
  void Decided(const Node& node, std::string_view runs);
  // A node that is gone already.
  void Rewritten(RemovedNode node);
  // `by` computes now what `node` did for it. Should nothing else need `node`, it is told as merged, not as dead.
  void Absorbed(const Node& node, const Node& by);

  size_t size() const { return removed_.size(); }
  // Whether the node at this address was told of as the entry `since` or a later one.
  bool Knows(const Node* node, size_t since) const;
  std::vector<RemovedNode> Take();

 private:
  void RemovedWithin(const Graph& body, RemovalReason reason, const std::string& into);

  std::vector<RemovedNode> removed_;
  std::vector<const Node*> addresses_;  // of removed_: only to be compared
  std::unordered_map<const Node*, std::string> absorbed_;
};

// The nodes of a graph before something runs that doesn't tell what it removes. Costs time in proportion to the graph.
class NodesBefore {
 public:
  // `history` null: nothing is to be told.
  NodesBefore(const Graph& graph, NodeHistory* history);

  // Before the graph is finalized. What is gone and wasn't told of meanwhile, `by` has rewritten.
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

// By what reports call a node: its name, or what it makes if it has none.
std::string ReportedName(const Node& node);

}  // namespace epiphyte::core
