// JoinGraphs: joins the graphs of several models into one with unique names and the requested connections.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/context/merge_names.h"

namespace epiphyte::core {

struct JoinedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<std::string> renamed;
  GraphAnnotations annotations;
};

// The models stay as they are; constants are shared. Throws INVALID_GRAPH when plain nodes of two models use different
// versions of a domain, or when the connections form a cycle.
JoinedGraph JoinGraphs(std::span<const MergeModel> models, std::span<const MergeConnection> connections,
                       std::string name);

}  // namespace epiphyte::core
