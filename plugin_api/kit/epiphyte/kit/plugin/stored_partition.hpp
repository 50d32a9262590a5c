// The partition that a context node stands for, among the graphs of containers: for plugins whose contexts hold their
// graphs as container/graph.hpp writes them.
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
  std::string name;                                 // the graph's
  std::shared_ptr<const ContextContainer> context;  // where the stored graph's bytes lie
  StoredGraph stored;                               // has as many inputs and outputs as the node
};

// Node `node` of `loading`; `contexts` are its payloads, opened. A node without a name stands for the only graph of its
// context. Throws INVALID_GRAPH when there is no such graph, or when it is another node's.
StoredPartition ReadPartition(const ContextLoading& loading, size_t node,
                              std::span<const std::shared_ptr<const ContextContainer>> contexts,
                              GraphCheck check = GraphCheck::kNow);

}  // namespace epiphyte::kit
