#include "epiphyte/kit/shape/einsum.hpp"

#include <algorithm>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::kit {
namespace {

// A term without spaces; "..." becomes '.'.
std::string ParseTerm(std::string_view text, std::string_view equation) {
  std::string term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term += c;
    } else if (text.substr(i, 3) == "..." && term.find('.') == std::string::npos) {
      term += '.';
      i += 2;
    } else {
      FailArgument("equation '", equation.substr(0, 128), "' has '", c, "' where a letter or an ellipsis is expected");
    }
  }
  return term;
}

}  // namespace

EinsumEquation EinsumEquation::Parse(std::string_view text) {
  EinsumEquation equation;
  const size_t arrow = text.find("->");
  equation.has_output = arrow != std::string::npos;
  if (equation.has_output) equation.output = ParseTerm(text.substr(arrow + 2), text);
  const std::string_view left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    equation.inputs.push_back(ParseTerm(left.substr(begin, end - begin), text));
    begin = end + 1;
  }
  return equation;
}

EinsumLabels EinsumEquation::Labels(std::string_view term, size_t rank) {
  const bool ellipsis = term.find('.') != std::string::npos;
  const size_t letters = term.size() - (ellipsis ? 1 : 0);
  if (rank < letters || (!ellipsis && rank != letters)) {
    FailArgument("an operand has rank ", rank, ", the equation gives it ", letters, ellipsis ? " or more" : "");
  }
  EinsumLabels labels;
  for (char c : term) {
    if (c != '.') {
      labels.push_back(static_cast<unsigned char>(c));
      continue;
    }
    for (size_t i = rank - letters; i-- > 0;) labels.push_back(kEllipsis + static_cast<int>(i));
  }
  return labels;
}

EinsumLabels EinsumEquation::OutputLabels(const std::vector<EinsumLabels>& operands) const {
  std::map<int, int> uses;
  int ellipsis = 0;
  for (const EinsumLabels& labels : operands) {
    for (int label : labels) {
      ++uses[label];
      if (label >= kEllipsis) ellipsis = std::max(ellipsis, label - kEllipsis + 1);
    }
  }
  if (has_output) {
    const size_t letters = output.size() - (output.find('.') != std::string::npos ? 1 : 0);
    EinsumLabels labels = Labels(output, letters + (letters == output.size() ? 0 : static_cast<size_t>(ellipsis)));
    for (size_t i = 0; i < labels.size(); ++i) {
      if (uses[labels[i]] == 0) FailArgument("output label '", static_cast<char>(labels[i]), "' is in no input");
      if (std::count(labels.begin(), labels.end(), labels[i]) > 1) {
        FailArgument("output label '", static_cast<char>(labels[i]), "' appears twice");
      }
    }
    return labels;
  }
  EinsumLabels labels;
  for (int i = ellipsis; i-- > 0;) labels.push_back(kEllipsis + i);
  for (const auto& [label, count] : uses) {
    if (label < kEllipsis && count == 1) labels.push_back(label);
  }
  return labels;
}

EinsumShape::EinsumShape(const EinsumEquation& equation, std::span<const Dims* const> shapes) {
  if (shapes.size() != equation.inputs.size())
    FailArgument("the equation has ", equation.inputs.size(), " operands, the node ", shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Dims& dims = *shapes[i];
    operands.push_back(EinsumEquation::Labels(equation.inputs[i], dims.size()));
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto [found, added] = sizes.emplace(operands.back()[d], dims[d]);
      if (added || found->second == dims[d] || dims[d] == 1) continue;
      if (found->second != 1) FailArgument("a label stands for the sizes ", found->second, " and ", dims[d]);
      found->second = dims[d];
    }
  }
  output = equation.OutputLabels(operands);
  for (const int label : output) y.push_back(sizes.at(label));
  CheckedCount(y);
}

}  // namespace epiphyte::kit
