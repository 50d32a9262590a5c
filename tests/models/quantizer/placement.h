// QuantizedPlacement: which operators of a float graph are quantised and which stay float. What an operator demands of
// its inputs is the kit's rule (epiphyte/kit/qdq/rules.hpp), so that each of them makes a QDQ unit.
//
//   const QuantizedPlacement placement(index, activations);
//   if (placement.IsQuantized(n)) …
//
// Products, average pools, Softmax and LayerNormalization are quantised wherever they stand. Other operators that can
// be follow: they are if all that they compute with is constant or comes from quantised operators, and something
// quantised, or an output of the graph, reads what they make. So what is sensitive (RMSNorm from Pow to Reciprocal,
// rotary positions) stays float with all that is around it up to the next product, and no island of one Slice is
// quantised by itself.
//
// What a Sin or Cos reads, however indirectly, stays float: no scale of 8 bits is fine enough for angles.
//
// An attention mask, which adds minus infinity, or nearly, to scores, is made in float; Add is quantised, and saturates
// it (see Mask below).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "epiphyte/kit/qdq/rules.hpp"
#include "tests/models/rewrite/graph_index.h"

namespace epiphyte::test {

class QuantizedPlacement {
 public:
  // `activations`: the float values that are no initializers. All are referred to.
  QuantizedPlacement(const GraphIndex& index, const std::set<std::string>& activations);

  bool IsQuantized(int node) const { return node >= 0 && quantized_[static_cast<size_t>(node)]; }
  // The Relu or Clip that belongs to the unit of a quantised node; -1: none.
  int ClampOf(int node) const { return clamp_of_[static_cast<size_t>(node)]; }
  // It is part of another node's unit.
  bool IsClampOfUnit(int node) const { return is_clamp_[static_cast<size_t>(node)]; }
  // Of a quantised node.
  const kit::qdq::Rule& RuleOf(int node) const { return *rules_[static_cast<size_t>(node)]; }
  // Moves elements: all its float inputs and outputs have one scale.
  bool Moves(int node) const;

  // Mask: the value is added to scores and made of a constant that stands for minus infinity.
  bool IsMask(const std::string& value) const;

 private:
  void StayFloatAboveAngles();
  bool CanBeQuantized(int node) const;
  bool IsAnchor(int node) const;
  bool AllNumbersAreQuantized(int node) const;
  bool IsRead(int node) const;
  void FindClamps();

  const GraphIndex& index_;
  const std::set<std::string>& activations_;
  std::vector<const kit::qdq::Rule*> rules_;  // null: no unit is made of it
  std::vector<bool> angle_;                   // what it makes ends in an angle
  std::vector<bool> quantized_;
  std::vector<int> clamp_of_;
  std::vector<bool> is_clamp_;
};

// As the kit's rules ask for it: operator, domain, and integer attributes.
kit::ir::Node ToKitNode(const onnx::NodeProto& node);

}  // namespace epiphyte::test
