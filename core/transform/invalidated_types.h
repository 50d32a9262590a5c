// InvalidatedTypes: before types are inferred anew, what was inferred from nodes that have changed must not be believed
// any more: merging would keep a size that was true of the old node.
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
  // Forgets the types of what `changed` nodes make and of all that depends on it, in nested graphs too: those of
  // operators that nobody describes stay, and so do those of the model's outputs, which are the model's word. A changed
  // node that isn't in the graph any more is ignored. `schemas`: as InferTypes gets them.
  InvalidatedTypes(Graph& graph, const std::unordered_set<const Node*>& changed,
                   const OperatorSchemas* schemas = nullptr);

  // What inference didn't find again is of the element type that it was, of a shape that nobody knows.
  void Restore() const;

 private:
  std::vector<std::pair<ValueDef*, TypePtr>> types_;
};

}  // namespace epiphyte::core
