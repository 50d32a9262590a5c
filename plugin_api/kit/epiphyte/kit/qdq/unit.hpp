// A QDQ unit: an operator together with the DequantizeLinear nodes in front of it and the QuantizeLinear nodes behind
// it; and what a provider says of the units that it can run. units.hpp finds them.
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
  std::vector<int32_t> dequantize;  // by input of the target: the DequantizeLinear in front of it, or -1
  std::vector<int32_t> quantize;    // by output of the target: the QuantizeLinear behind it, or -1
  int32_t clamp = -1;               // Relu or Clip between the target and its QuantizeLinear
  Clamp range;                      // what that does
  std::vector<int32_t> bounds;      // DequantizeLinear nodes that give the Clip its bounds
  std::vector<int32_t> nodes;       // those of this unit and of no other, in an order in which they can run
  // DequantizeLinear nodes that this unit reads, but that are among the nodes of an earlier one.
  std::vector<int32_t> shared;

  // Not a single node, or a QuantizeLinear or DequantizeLinear that is left over.
  bool IsQdq() const { return !dequantize.empty(); }
};

struct Options {
  int narrowest_bits = 4;  // of quantised numbers and weights: 2 to 16
  int widest_bits = 16;
  // Relu and Clip that do something are part of the unit, too, and not only those that change no quantised number.
  bool working_clamps = true;
  // Products (MatMul, Gemm, Einsum) whose result stays float.
  bool float_products = false;
  // MatMul and Gemm of floats with dequantised weights.
  bool weight_only_products = false;
  // What a DequantizeLinear makes may also be read outside of units, or be an output of the graph. Where it isn't
  // allowed, no float leaves a unit (but for float_products and weight_only_products).
  bool dequantized_outputs = false;
  // What only moves elements may have a result of another scale or zero point than its input.
  bool moves_between_scales = false;
  // Weights without a sign go with numbers that have one, too: for those who correct sums by zero points of any sign.
  bool any_weight_sign = false;
  // A bias whose scale isn't that of the input times that of the weights makes no unit. QuantizedBias (bias.hpp) brings
  // any other to that scale.
  bool exact_bias_scale = false;
  // Why the provider can't run a unit; empty if it can. Asked before it's known whose its nodes are: `nodes` and
  // `shared` are empty.
  std::function<std::string(const ir::Editor&, const Unit&)> refuse = nullptr;
};

// What isn't seen in the graph itself.
struct Surroundings {
  std::vector<bool> taken;  // by node, may be shorter: others have it, so that it's in no unit
};

// "Conv 'conv1'"; nodes without a name are called after their first output.
std::string NodeText(const ir::Graph& graph, const ir::Node& node);

}  // namespace epiphyte::kit::qdq
