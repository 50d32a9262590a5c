// Einsum: its equation, parsed and checked ("ij,jk->ik", with an ellipsis for any number of dimensions), and the shapes
// that it gives to operands.
//
//   const auto equation = kit::EinsumEquation::Parse(node.String("equation"));
//   const kit::EinsumShape shape(equation, operands);
//   shape.y;                          // of the result
//   shape.sizes.at(shape.output[0]);  // of its first dimension
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// Labels are small numbers: a letter's code, or kEllipsis + i for the i-th dimension, from the right, of an ellipsis.
using EinsumLabels = std::vector<int>;

struct EinsumEquation {
  static constexpr int kEllipsis = 256;
  std::vector<std::string> inputs;  // letters, and '.' for an ellipsis
  std::string output;
  bool has_output = false;

  // Throws for anything that is not an equation.
  static EinsumEquation Parse(std::string_view text);

  // The label of each dimension of an operand; throws when the rank doesn't fit.
  static EinsumLabels Labels(std::string_view term, size_t rank);
  // The labels of the output. Without "->": the ellipsis, then the letters that occur once, in order.
  EinsumLabels OutputLabels(const std::vector<EinsumLabels>& operands) const;
};

// An equation over operands of known shapes.
struct EinsumShape {
  std::vector<EinsumLabels> operands;  // by operand and dimension
  EinsumLabels output;                 // by dimension of the result
  std::map<int, int64_t> sizes;        // by label
  Dims y;

  // A dimension of 1 is broadcast to the size that its label has elsewhere.
  EinsumShape(const EinsumEquation& equation, std::span<const Dims* const> shapes);
};

}  // namespace epiphyte::kit
