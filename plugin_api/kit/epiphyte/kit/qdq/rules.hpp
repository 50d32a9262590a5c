// Rules: the operators that can form QDQ units, and the requirements on their inputs and outputs.
//
//   const qdq::Rule* rule = qdq::FindRule(node);
//   if (rule != nullptr && rule->InputAt(2) == qdq::Input::kBias) …
//
// The rules describe only the requirements for computing an operator on integers. Further limits of a provider belong
// in its Options::refuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::qdq {

// Role of an operator's input in a unit.
enum class Input : char {
  kNumbers = 'x',    // dequantised with one scale; all such inputs have the type of the first one
  kWeights = 'w',    // dequantised from a type of its own, possibly with a scale for each output channel
  kBias = 'b',       // a dequantised int32, a constant float, or left out
  kNumber = 'v',     // left out, a constant, or dequantised like kNumbers
  kOption = 'o',     // left out, a constant, or dequantised from any type
  kParameter = 'p',  // not dequantised: indices, shapes, booleans
  kNone = ' ',       // the operator has no such input
};

enum class Output : char {
  kQuantized = 'y',  // quantised to the type of the first kNumbers
  kEither = 'f',     // like kQuantized, or float: see Options::float_products
  kPlain = 'n',      // not quantised: indices, booleans
  kNone = ' ',       // the operator has no such output
};

// Axis of the output channels in the weights. Weights may have a scale for each of its indices.
enum class WeightAxis : uint8_t { kNone, kFirst, kSecond, kColumns, kAny };

struct Rule {
  std::string_view op_type;
  std::string_view inputs;   // letters of Input; a '*' at the end repeats the last one
  std::string_view outputs;  // letters of Output, in the same way
  WeightAxis axis = WeightAxis::kNone;
  // Moves elements and computes nothing. Input and output have the same scale and zero point, unless
  // Options::moves_between_scales allows different ones.
  bool moves = false;
  bool signed_weights = false;  // numbers of up to 8 bits with a sign need signed weights that are no wider
  int64_t since = 1;            // versions before this one do not take integers

  Input InputAt(size_t index) const;
  Output OutputAt(size_t index) const;
  bool IsProduct() const { return axis == WeightAxis::kColumns; }  // MatMul, Gemm: may lack a quantised input or output
};

// The rule for a node's operator, regardless of its version. Null when the operator forms no unit.
const Rule* FindRule(const ir::Node& node);

// The axis of the weights of `node` that may have a scale for each index; -1 if none may. For WeightAxis::kAny it is
// `asked`.
int64_t ChannelAxis(const Rule& rule, const ir::Node& node, int32_t rank, int64_t asked);

}  // namespace epiphyte::kit::qdq
