// QuantizedPlacement: decides which operators of a float graph are quantised and which stay float. The kit's rules
// (epiphyte/kit/qdq/rules.hpp) decide what an operator demands of its inputs, so that each quantised operator makes a
// QDQ unit.
//
//   const QuantizedPlacement placement(index, activations);
//   if (placement.IsQuantized(n)) …
//
// Products, average pools, Softmax and LayerNormalization are quantised everywhere. Another operator with a rule is
// quantised on two conditions. All its operands are constant or come from quantised operators, and a quantised
// operator or a graph output reads its results. So the sensitive parts (RMSNorm from Pow to Reciprocal, rotary
// positions) stay float with everything around them up to the next product. No island of one Slice is quantised by
// itself.
//
// Every input of a Sin or Cos, direct or indirect, stays float: no scale of 8 bits is fine enough for angles.
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
  // Rule of a quantised node.
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
