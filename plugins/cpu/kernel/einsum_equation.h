// The equation of Einsum, parsed and checked: "ij,jk->ik", with an ellipsis for any number of dimensions.
#pragma once

#include <string>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Labels are small numbers: a letter's code, or kEllipsis + i for the i-th dimension, from the right, of an ellipsis.
struct EinsumEquation {
  static constexpr int kEllipsis = 256;
  std::vector<std::string> inputs;  // letters, and '.' for an ellipsis
  std::string output;
  bool has_output = false;

  // Throws for anything that is not an equation.
  static EinsumEquation Parse(const std::string& text);

  // The label of each dimension of an operand; throws when the rank doesn't fit.
  static std::vector<int> Labels(const std::string& term, size_t rank);
  // The labels of the output. Without "->": the ellipsis, then the letters that occur once, in order.
  std::vector<int> OutputLabels(const std::vector<std::vector<int>>& inputs) const;
};

}  // namespace epiphyte::cpu
