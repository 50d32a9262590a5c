// QuantizedPlacement decides which operators of a float graph are quantized and which stay float. The kit's rules
// (epiphyte/kit/qdq/rules.hpp) say what an operator demands of its inputs, so that each quantized operator makes a QDQ
// unit.
//
//   const QuantizedPlacement placement(index, activations);
//   if (placement.IsQuantized(n)) …
//
// Products, average pools, Softmax and LayerNormalization are quantized everywhere. Another operator with a rule is
// quantized on two conditions: all its operands are constant or come from quantized operators, and a quantized operator
// or a graph output reads its results. So the sensitive parts (RMSNorm from Pow to Reciprocal, rotary positions) stay
// float with everything around them up to the next product, and no Slice is quantized on its own.
//
// Every direct or indirect input of a Sin or Cos stays float, because no scale of 8 bits is fine enough for angles.
//
// An attention mask adds minus infinity, or nearly, to scores. It is computed in float; the Add is quantized and
// saturates it (see IsMask).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "epiphyte/kit/qdq/rules.hpp"
#include "tests/models/rewrite/graph_index.h"

namespace epiphyte::test {

class QuantizedPlacement {
 public:
  // `activations`: the float values that are no initializers. The object keeps references to both arguments.
  QuantizedPlacement(const GraphIndex& index, const std::set<std::string>& activations);

  bool IsQuantized(int node) const { return node >= 0 && quantized_[static_cast<size_t>(node)]; }
  // The Relu or Clip that belongs to the unit of a quantized node; -1 if there is none.
  int ClampOf(int node) const { return clamp_of_[static_cast<size_t>(node)]; }
  // True if the node is the Relu or Clip of another node's unit.
  bool IsClampOfUnit(int node) const { return is_clamp_[static_cast<size_t>(node)]; }
  // Rule of a quantized node.
  const kit::qdq::Rule& RuleOf(int node) const { return *rules_[static_cast<size_t>(node)]; }
  // True if the node moves elements, so that all its float inputs and outputs have one scale.
  bool Moves(int node) const;

  // True for an attention mask: its producer reads a constant that stands for minus infinity.
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
  std::vector<const kit::qdq::Rule*> rules_;  // null: the node makes no unit
  std::vector<bool> angle_;  // true: the node's result is an input of Sin or Cos, directly or indirectly
  std::vector<bool> quantized_;
  std::vector<int> clamp_of_;
  std::vector<bool> is_clamp_;
};

// Returns the node as the kit's rules take it: operator, domain, and integer attributes.
kit::ir::Node ToKitNode(const onnx::NodeProto& node);

}  // namespace epiphyte::test
