// Placement: which provider has which node, and why, and what became of the model's other nodes. It is the result of
// partitioning and the report that users read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/transform/node_history.h"

namespace epiphyte::core {

struct Decline {
  std::string provider;
  std::string reason;
};

// Stands in reports where other nodes have their provider's name.
inline constexpr std::string_view kHostInReports = "(host)";

struct NodePlacement {
  std::string graph;  // path of nested graphs: "", "if_1/then_branch"
  uint32_t node_id = 0;
  std::string name;
  std::string op_type;
  std::string domain;
  std::string provider;         // "" when no provider took it
  bool is_run_by_host = false;  // an If, Loop or Scan that no provider took, so the core runs it
  std::string device;
  std::string partition;
  std::vector<Decline> declines;
  std::vector<std::string> notes;  // notes of its provider: the kernel, and why not a faster one

  // The provider as reports show it: kHostInReports for a node that the core runs, "" for an unplaced one.
  std::string_view ProviderInReports() const { return is_run_by_host ? kHostInReports : std::string_view(provider); }
};

// The provider's statements about its claims for one partition.
struct PartitionClaims {
  std::vector<std::string> names;
  uint64_t memory_bytes = 0;  // estimate; 0: unknown
};

struct Placement {
  std::vector<NodePlacement> nodes;
  std::map<std::string, PartitionClaims> claims;  // key: partition name; few have any
  std::vector<std::string> warnings;              // dropped claims and similar problems
  // Nodes of the model that were removed before providers were asked, with the reason.
  std::vector<RemovedNode> removed;

  // One line for logs: "412 nodes: vulkan 380 in 3 partitions, cpu 32 in 4 partitions".
  std::string Summary() const;
  // One line for logs: "9 more nodes of the model: 6 folded, 2 merged, 1 dead"; "" when all are in `nodes`.
  std::string RemovedSummary() const;
  std::string ToJson() const;
  // Picture of the graph in graphviz's language, coloured by provider.
  std::string ToDot() const;
  // Edges between entries of `nodes`, for the picture. Empty for graphs too large to look at.
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  // All providers asked, in order of priority.
  std::vector<std::string> providers;
};

}  // namespace epiphyte::core
