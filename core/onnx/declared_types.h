// DeclaredTypes: what a model declares of its values, held against what inference says.
//
// Kinds and element types have to agree. A shape that differs is a mistake of the model: what is inferred counts, and
// the log says so once for all values. A size that only a run can know (shape_origin.h) is not believed either.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>

#include "core/graph/graph.h"

namespace epiphyte::core {

class DeclaredTypes {
 public:
  // Gives `value`, an output of `node`, the type that follows from its declared and its inferred one.
  // `depends_on_data`: its shape does. Throws INVALID_GRAPH when the two have nothing in common.
  void Merge(const Node& node, ValueDef& value, const TypePtr& inferred, bool depends_on_data);
  // The input of a body that gets a value of the type `given`.
  void MergeBodyInput(ValueDef& input, const TypePtr& given);
  // Logs a warning when declarations have been ignored.
  void Report() const;

 private:
  void Ignore(const ValueDef& value, std::string what);

  std::unordered_set<const ValueDef*> ignored_;
  std::string first_;
};

}  // namespace epiphyte::core
