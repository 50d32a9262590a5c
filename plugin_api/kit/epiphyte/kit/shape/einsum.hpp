// Einsum: an equation, parsed and checked, and the shapes that result from operands. The equation is like "ij,jk->ik";
// an ellipsis stands for any number of dimensions.
//
//   const auto equation = kit::EinsumEquation::Parse(node.String("equation"));
//   const kit::EinsumShape shape(equation, operands);
//   shape.y;                          // dimensions of the result
//   shape.sizes.at(shape.output[0]);  // size of its first dimension
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT).
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

// A label is a small number: a letter's code, or kEllipsis + i for dimension i of an ellipsis, counted from the right.
using EinsumLabels = std::vector<int>;

struct EinsumEquation {
  static constexpr int kEllipsis = 256;
  std::vector<std::string> inputs;  // letters, and '.' for an ellipsis
  std::string output;
  bool has_output = false;

  // Throws for a text that is not an equation.
  static EinsumEquation Parse(std::string_view text);

  // The label of each dimension of an operand. Throws when the rank does not fit.
  static EinsumLabels Labels(std::string_view term, size_t rank);
  // The labels of the output. Without "->" these are the ellipsis, then the letters that occur once, in order.
  EinsumLabels OutputLabels(const std::vector<EinsumLabels>& operands) const;
};

// An equation over operands of known shapes.
struct EinsumShape {
  std::vector<EinsumLabels> operands;  // labels for each operand and dimension
  EinsumLabels output;                 // labels for each dimension of the result
  std::map<int, int64_t> sizes;        // size for each label
  Dims y;

  // A dimension of 1 broadcasts to the size that its label has elsewhere.
  EinsumShape(const EinsumEquation& equation, std::span<const Dims* const> shapes);
};

}  // namespace epiphyte::kit
