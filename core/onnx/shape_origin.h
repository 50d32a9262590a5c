// ShapeOrigin: which values have a shape that depends on the data of a run, as what NonZero makes has. A size that a
// model declares for such a value is that of one run, so it proves nothing.
//
//   ShapeOrigin origin;
//   for (const Node* node : graph.TopologicalOrder()) origin.Visit(*node);
//   if (origin.DependsOnData(*value)) …
#pragma once

#include <cstdint>
#include <unordered_set>

#include "core/graph/graph.h"

namespace epiphyte::core {

class ShapeOrigin {
 public:
  // The inputs of a body that its node runs more than once, or with values of any shape.
  void EnterBody(const Graph& body);
  // A node whose inputs have been visited.
  void Visit(const Node& node);
  bool DependsOnData(const ValueDef& value) const;

 private:
  bool HasFixedData(const ValueDef* value) const;
  bool HasFixedInputs(const Node& node) const;
  bool MakesShapesOfData(const Node& node) const;

  std::unordered_set<const ValueDef*> of_data_;  // their shape depends on data
  std::unordered_set<const ValueDef*> fixed_;    // their data does not depend on that of a run
};

}  // namespace epiphyte::core
