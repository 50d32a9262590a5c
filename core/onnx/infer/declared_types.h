// DeclaredTypes: merges the types that a model declares for its values with the inferred types.
//
// Kinds and element types must agree. If a declared shape differs, the model is wrong: the inferred shape is used, and
// one warning is logged for all such values. A size that only a run can determine (shape_origin.h) isn't trusted
// either.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>

#include "core/graph/graph.h"

namespace epiphyte::core {

class DeclaredTypes {
 public:
  // Gives `value`, an output of `node`, the type that follows from its declared and its inferred type.
  // `depends_on_data`: the shape depends on the data of a run. Throws INVALID_GRAPH when the two types contradict each
  // other.
  void Merge(const Node& node, ValueDef& value, const TypePtr& inferred, bool depends_on_data);
  // Merges the type of a nested graph's input with `given`, the type of the value that it receives.
  void MergeBodyInput(ValueDef& input, const TypePtr& given);
  // Logs a warning if declarations were ignored.
  void Report() const;

 private:
  void Ignore(const ValueDef& value, std::string what);

  std::unordered_set<const ValueDef*> ignored_;
  std::string first_;
};

}  // namespace epiphyte::core
