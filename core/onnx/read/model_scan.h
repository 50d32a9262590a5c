// Model scan: lists the files that a model refers to, and whether it has EPContext nodes, without building a graph.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace epiphyte::core {

struct ModelScan {
  bool has_context_nodes = false;        // in the graph, a nested graph, or a function
  std::set<std::string> external_files;  // as the model spells them
};

// Walks the wire format, except for the tensors' bytes. Throws INVALID_PROTOBUF, and INVALID_GRAPH for graphs that are
// nested too deep.
ModelScan ScanModel(std::string_view model);

}  // namespace epiphyte::core
