// Placement: the provider of each node, the reasons why other providers declined, and the fate of removed nodes.
//
//   epiphyte::Placement placement = epiphyte::Placement::Of(environment, "model.onnx");
//   std::cout << placement.Summary() << '\n';  // "412 nodes: vulkan 380 in 3 partitions, cpu 32 in 4 partitions"
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/export.hpp"
#include "epiphyte/options.hpp"

namespace epiphyte::core {
struct Placement;
}

namespace epiphyte {

struct Decline {
  std::string provider;
  std::string reason;
};

struct NodePlacement {
  std::string graph;  // path of nested graphs: "", "if_1/then_branch"
  std::string name;
  std::string op_type;
  std::string domain;
  std::string provider;  // "" when no provider has it; "(host)" for control flow that the core runs
  std::string device;
  std::string partition;
  std::vector<Decline> declines;
  // Notes of the node's provider: the kernel that would run the node, and why a faster kernel was refused. Filled only
  // by Placement::Of, if the plugin gives notes.
  std::vector<std::string> notes;
};

// A node of the model that was removed before providers were asked.
struct RemovedNode {
  std::string graph;
  std::string name;
  std::string op_type;
  std::string domain;
  std::string fate;  // folded, merged, bypassed, dead, inlined, decided, untaken, rewritten
  // Depends on `fate`: the constant, node or value that replaces the node, the transform that rewrote it, the nested
  // graph with the nodes that replace it, or the node that never runs it. May be "".
  std::string into;
  std::string text;  // "merged with node 'x'"
};

// Immutable, cheap to copy. Thread-safe.
class EPIPHYTE_API Placement {
 public:
  // Partitions a model without compiling it.
  static Placement Of(const Environment& environment, const std::filesystem::path& model,
                      const SessionOptions& options = {});

  std::vector<NodePlacement> nodes() const;
  // Removed nodes. Together with nodes() these are all nodes of the model; nodes() may also have nodes of inlined
  // functions.
  std::vector<RemovedNode> removed() const;
  // Names of the providers that have nodes, in order of their first one.
  std::vector<std::string> providers() const;
  std::vector<std::string> warnings() const;

  std::string Summary() const;
  // "9 more nodes of the model: 6 folded, 2 merged, 1 dead"; "" when none was removed.
  std::string RemovedSummary() const;
  std::string ToJson() const;
  // A drawing of the graph for graphviz, coloured by provider.
  std::string ToDot() const;

 private:
  friend class Access;
  explicit Placement(std::shared_ptr<const core::Placement> placement) : placement_(std::move(placement)) {}
  std::shared_ptr<const core::Placement> placement_;
};

}  // namespace epiphyte
