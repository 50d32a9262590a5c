// Unit: a QDQ unit, which is an operator with the DequantizeLinear nodes before it and the QuantizeLinear nodes after
// it. Options: the units that a provider can run. units.hpp finds units.
//
//   const qdq::Options options = {.widest_bits = 8, .refuse = [](const ir::Editor& editor, const qdq::Unit& unit) {
//     return editor.node(unit.target).Is("Conv") ? "" : "only Conv";
//   }};
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/qdq/clamp.hpp"

namespace epiphyte::kit::qdq {

struct Unit {
  int32_t target = -1;
  std::vector<int32_t> dequantize;  // for each input of the target: the DequantizeLinear before it, or -1
  std::vector<int32_t> quantize;    // for each output of the target: the QuantizeLinear after it, or -1
  int32_t clamp = -1;               // Relu or Clip between the target and its QuantizeLinear, or -1
  Clamp range;                      // effect of `clamp`
  std::vector<int32_t> bounds;      // DequantizeLinear nodes that give the Clip its bounds
  std::vector<int32_t> nodes;       // nodes that only this unit has, in execution order
  // DequantizeLinear nodes that this unit reads and an earlier unit has among its nodes.
  std::vector<int32_t> shared;

  // False for a single node, and for a QuantizeLinear or DequantizeLinear in no other unit.
  bool IsQdq() const { return !dequantize.empty(); }
};

struct Options {
  int narrowest_bits = 4;  // least width of quantised numbers and weights, 2 to 16
  int widest_bits = 16;
  // True: Relu and Clip that change quantised numbers are part of the unit too. False: only those that change none.
  bool working_clamps = true;
  // Allows units of GEMMs (MatMul, Gemm, Einsum) with a float result.
  bool float_products = false;
  // Allows units of MatMul and Gemm on floats with dequantised weights.
  bool weight_only_products = false;
  // Allows a DequantizeLinear's result to be read outside of units, or to be a graph output. Otherwise no float leaves
  // a unit, except for float_products and weight_only_products.
  bool dequantized_outputs = false;
  // Allows operators that only move elements to have a result with another scale or zero point than the input.
  bool moves_between_scales = false;
  // Allows unsigned weights with signed numbers, for kernels that correct sums by zero points of any sign.
  bool any_weight_sign = false;
  // Requires a bias to have the product of the input's and the weights' scales as scale. QuantizedBias (bias.hpp)
  // converts other biases to that scale.
  bool exact_bias_scale = false;
  // Says why the provider can't run a unit; empty if it can. It is called before nodes are assigned to units, so
  // `nodes` and `shared` are empty.
  std::function<std::string(const ir::Editor&, const Unit&)> refuse = nullptr;
};

// Facts about nodes that the graph does not contain.
struct Surroundings {
  // One entry for each node; may be shorter. True: another provider has the node, so it is in no unit.
  std::vector<bool> taken;
};

// "Conv 'conv1'". A node without a name is named by its first output.
std::string NodeText(const ir::Graph& graph, const ir::Node& node);

}  // namespace epiphyte::kit::qdq
