// ShapeOrigin: determines which values have a shape that depends on the data of a run, such as the output of NonZero. A
// size that a model declares for such a value comes from one run, so it proves nothing.
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
  // Call for a nested graph that its node runs more than once, or with values of any shape: its inputs have unknown
  // data.
  void EnterBody(const Graph& body);
  // Call for each node after its inputs have been visited.
  void Visit(const Node& node);
  bool DependsOnData(const ValueDef& value) const;

 private:
  bool HasFixedData(const ValueDef* value) const;
  bool HasFixedInputs(const Node& node) const;
  bool MakesShapesOfData(const Node& node) const;

  std::unordered_set<const ValueDef*> of_data_;  // values with a shape that depends on data
  std::unordered_set<const ValueDef*> fixed_;    // values with data that doesn't depend on a run
};

}  // namespace epiphyte::core
