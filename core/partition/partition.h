// Partition: the part of a graph that one provider got.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace epiphyte::core {

// A group that a provider got. In the original graph the fused node `node` stands for it.
struct Partition {
  std::string name;  // see PartitionNames
  int32_t provider = kUnplaced;
  Node* node = nullptr;          // op_type kPartitionOp in domain kPartitionDomain, in the original graph
  std::unique_ptr<Graph> graph;  // the partition's computation; inputs and outputs in the order of the node's
  // EPContext nodes taken over from a context model are partitions too: `graph` is then empty, and `node` is the copy
  // of the EPContext node.
  bool is_context = false;
};

inline constexpr std::string_view kPartitionOp = "Partition";
inline constexpr std::string_view kPartitionDomain = "epiphyte.internal";

}  // namespace epiphyte::core
