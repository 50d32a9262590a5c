// SavedTypes: saves the types of all values of a graph and its nested graphs, to restore them before the graph is
// inferred again.
#pragma once

#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

class SavedTypes {
 public:
  explicit SavedTypes(const Graph& graph) { Save(graph); }
  // All saved values must still exist.
  void Restore() const {
    for (const auto& [value, type] : types_) value->set_type(type);
  }

 private:
  void Save(const Graph& graph) {
    for (const auto& value : graph.values()) {
      if (value != nullptr) types_.emplace_back(value.get(), value->type());
    }
    for (const auto& node : graph.nodes()) {
      if (node == nullptr) continue;
      for (const Graph* body : node->subgraphs()) Save(*body);
    }
  }

  std::vector<std::pair<ValueDef*, TypePtr>> types_;
};

}  // namespace epiphyte::core
