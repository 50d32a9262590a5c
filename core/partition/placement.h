// Placement: which provider has which node, and why, and where the model's other nodes went. The result of
// partitioning, and the report that users read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/transform/node_history.h"

namespace epiphyte::core {

struct Decline {
  std::string provider;
  std::string reason;
};

struct NodePlacement {
  std::string graph;  // path of nested graphs: "", "if_1/then_branch"
  uint32_t node_id = 0;
  std::string name;
  std::string op_type;
  std::string domain;
  std::string provider;  // "" when none took it; "(host)" for If, Loop, Scan that the core runs
  std::string device;
  std::string partition;
  std::vector<Decline> declines;
  std::vector<std::string> notes;  // of the provider that has it: the kernel, and why not a faster one
};

// What the provider said of what it claimed, for one partition.
struct PartitionClaims {
  std::vector<std::string> names;
  uint64_t memory_bytes = 0;  // estimate; 0: not known
};

struct Placement {
  std::vector<NodePlacement> nodes;
  std::map<std::string, PartitionClaims> claims;  // by partition; few have any
  std::vector<std::string> warnings;  // dropped claims and the like
  // Nodes of the model that were gone before providers were asked, and what became of them.
  std::vector<RemovedNode> removed;

  // "412 nodes: vulkan 380 in 3 partitions, cpu 32 in 4 partitions"
  std::string Summary() const;
  // "9 more nodes of the model: 6 folded, 2 merged, 1 dead"; "" when all are in `nodes`.
  std::string RemovedSummary() const;
  std::string ToJson() const;
  // A picture of the graph, coloured by provider, in graphviz's language.
  std::string ToDot() const;
  // Edges between entries of `nodes`, for the picture. Left out for graphs too large to be looked at.
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  // All providers asked, in order of priority.
  std::vector<std::string> providers;
};

}  // namespace epiphyte::core
