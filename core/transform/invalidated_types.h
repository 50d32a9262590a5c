// InvalidatedTypes: withdraws the types that were inferred from nodes that have changed, before types are inferred
// anew. Inference merges with existing types, so a size that was true only for the old node would stay.
//
//   const InvalidatedTypes invalidated(graph, changed);
//   InferTypes(graph);
//   invalidated.Restore();
#pragma once

#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

class OperatorSchemas;

class InvalidatedTypes {
 public:
  // Clears the types of all outputs of the `changed` nodes and of all values that depend on them, in nested graphs too.
  // Two kinds of type stay: those of operators without a schema, and those of the model's outputs, which the model
  // declares. A changed node that isn't in the graph any more is ignored. `schemas` is the argument that InferTypes
  // gets.
  InvalidatedTypes(Graph& graph, const std::unordered_set<const Node*>& changed,
                   const OperatorSchemas* schemas = nullptr);

  // Gives each value that inference did not type again its former element type, with an unknown shape.
  void Restore() const;

 private:
  std::vector<std::pair<ValueDef*, TypePtr>> types_;
};

}  // namespace epiphyte::core
