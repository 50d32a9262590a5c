// Rules: of which operators QDQ units are made, and what each demands of its inputs and outputs.
//
//   const qdq::Rule* rule = qdq::FindRule(node);
//   if (rule != nullptr && rule->InputAt(2) == qdq::Input::kBias) …
//
// The rules speak of what makes an operator computable on integers, whoever computes; what a provider can't do besides
// is for its Options::refuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::qdq {

// What an input of an operator is in a unit.
enum class Input : char {
  kNumbers = 'x',    // dequantised with one scale; all of them are of the first one's type
  kWeights = 'w',    // dequantised, of a type of its own, and perhaps with a scale for each output channel
  kBias = 'b',       // a dequantised int32, a constant float, or left out
  kNumber = 'v',     // left out, a constant, or dequantised as kNumbers
  kOption = 'o',     // left out, a constant, or dequantised from anything
  kParameter = 'p',  // not dequantised: indices, shapes, booleans
  kNone = ' ',       // there is no such input
};

enum class Output : char {
  kQuantized = 'y',  // of the type of the first kNumbers
  kEither = 'f',     // so, or float: see Options::float_products
  kPlain = 'n',      // not quantised: indices, booleans
  kNone = ' ',       // there is no such output
};

// Along which axis weights may have a scale for each index: that of the output channels.
enum class WeightAxis : uint8_t { kNone, kFirst, kSecond, kColumns, kAny };

struct Rule {
  std::string_view op_type;
  std::string_view inputs;   // as letters; a '*' at the end repeats the last one
  std::string_view outputs;  // likewise
  WeightAxis axis = WeightAxis::kNone;
  bool moves = false;           // moves elements and computes nothing: both ends have the same scale and zero point,
                                // but for Options::moves_between_scales
  bool signed_weights = false;  // numbers of up to 8 bits with a sign need weights with a sign that are no wider
  int64_t since = 1;            // versions before this one take no integers

  Input InputAt(size_t index) const;
  Output OutputAt(size_t index) const;
  bool IsProduct() const { return axis == WeightAxis::kColumns; }  // MatMul, Gemm: what can do without a quantised end
};

// Null where no unit is made of the operator. Versions aren't looked at.
const Rule* FindRule(const ir::Node& node);

// The axis of the weights of `node` whose indices may have scales of their own; -1 if none may. Any: `asked`.
int64_t ChannelAxis(const Rule& rule, const ir::Node& node, int32_t rank, int64_t asked);

}  // namespace epiphyte::kit::qdq
