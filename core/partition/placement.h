// Placement: which provider has which node, and why. The result of partitioning, and the report that users read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
};

struct Placement {
  std::vector<NodePlacement> nodes;
  std::vector<std::string> warnings;  // dropped claims and the like

  // "412 nodes: vulkan 380 in 3 partitions, cpu 32 in 4 partitions"
  std::string Summary() const;
  std::string ToJson() const;
  // A picture of the graph, coloured by provider, in graphviz's language.
  std::string ToDot() const;
  // Edges between entries of `nodes`, for the picture. Left out for graphs too large to be looked at.
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  // All providers asked, in order of priority.
  std::vector<std::string> providers;
};

}  // namespace epiphyte::core
