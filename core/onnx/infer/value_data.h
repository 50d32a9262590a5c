// ValueData: the elements of integer values that carry shapes, as far as they are known before the run. They come from
// constants, and from Shape, Gather, Concat and similar operators on constants and symbolic dimensions.
//
//   Shape(x) of x[batch,3] has the elements {symbol "batch", 3}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

class ValueData {
 public:
  // Larger tensors are no shapes, and their elements are never requested.
  static constexpr uint64_t kMaxElements = 1024;

  struct Element {
    std::optional<int64_t> value;
    std::string symbol;  // set only when the value is unknown; may be empty
  };
  // Row-major; a scalar is one element.
  using Elements = std::vector<Element>;

  // The data of a constant or of a Constant node's output, resolved through scopes; null for other values.
  static ConstantPtr ConstantOf(const ValueDef* value);

  // Null when the elements are unknown, or the value isn't an integer tensor of rank 0 or 1.
  const Elements* Find(const ValueDef* value);
  // The elements; nullopt unless all are known.
  std::optional<std::vector<int64_t>> FindInts(const ValueDef* value);
  // Derives the elements of the node's outputs. The types of its outputs must be set.
  void Propagate(const Node& node);

 private:
  std::optional<Elements> Compute(const Node& node);

  std::unordered_map<const ValueDef*, Elements> elements_;
};

}  // namespace epiphyte::core
