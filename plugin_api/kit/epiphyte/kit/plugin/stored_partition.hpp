// ReadPartition: finds the partition of a context node among the graphs in the session's containers. It is for plugins
// that store graphs in contexts as container/graph.hpp does.
//
//   std::vector<std::shared_ptr<const kit::ContextContainer>> contexts;   // opened, one for each payload
//   for (size_t i = 0; i < loading.size(); ++i) {
//     kit::StoredPartition partition = kit::ReadPartition(loading, i, contexts);
//     loading.SetKernel(i, Build(std::move(partition.stored), partition.context));
//   }
#pragma once

#include <memory>
#include <span>
#include <string>

#include "epiphyte/kit/container/graph.hpp"
#include "epiphyte/kit/plugin/context.hpp"

namespace epiphyte::kit {

struct StoredPartition {
  std::string name;                                 // name of the graph
  std::shared_ptr<const ContextContainer> context;  // holds the stored graph's bytes
  StoredGraph stored;                               // has as many inputs and outputs as the node
};

// Reads the graph of node `node` of `loading`. `contexts` are the opened payloads of `loading`, in order. A node
// without a partition name stands for the only graph of its context. Throws INVALID_GRAPH when there is no such graph,
// or when its inputs and outputs do not match the node's.
StoredPartition ReadPartition(const ContextLoading& loading, size_t node,
                              std::span<const std::shared_ptr<const ContextContainer>> contexts,
                              GraphCheck check = GraphCheck::kNow);

}  // namespace epiphyte::kit
