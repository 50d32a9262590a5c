// Partition: what of a graph one provider has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace epiphyte::core {

// A group that a provider got, still in its graph: `node` is the fused node that stands for it.
struct Partition {
  std::string name;  // see PartitionNames
  int32_t provider = kUnplaced;
  Node* node = nullptr;          // op_type kPartitionOp in domain kPartitionDomain, in the original graph
  std::unique_ptr<Graph> graph;  // what it computes; inputs and outputs in the order of node's
  // EPContext nodes taken over from a context model are partitions too: graph is empty and this is the node's copy.
  bool is_context = false;
};

inline constexpr std::string_view kPartitionOp = "Partition";
inline constexpr std::string_view kPartitionDomain = "epiphyte.internal";

}  // namespace epiphyte::core
