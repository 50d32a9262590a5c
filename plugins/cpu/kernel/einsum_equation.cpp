#include "plugins/cpu/kernel/einsum_equation.h"

#include <algorithm>
#include <map>

namespace epiphyte::cpu {
namespace {

// A term without spaces, its "..." as one '.'.
std::string ParseTerm(std::string_view text, const std::string& equation) {
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
      FailOp("equation '{}' has '{}' where a letter or an ellipsis is expected", equation.substr(0, 128), c);
    }
  }
  return term;
}

}  // namespace

EinsumEquation EinsumEquation::Parse(const std::string& text) {
  EinsumEquation equation;
  const size_t arrow = text.find("->");
  equation.has_output = arrow != std::string::npos;
  if (equation.has_output) equation.output = ParseTerm(std::string_view(text).substr(arrow + 2), text);
  const std::string_view left = std::string_view(text).substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    equation.inputs.push_back(ParseTerm(left.substr(begin, end - begin), text));
    begin = end + 1;
  }
  return equation;
}

std::vector<int> EinsumEquation::Labels(const std::string& term, size_t rank) {
  const bool ellipsis = term.find('.') != std::string::npos;
  const size_t letters = term.size() - (ellipsis ? 1 : 0);
  if (rank < letters || (!ellipsis && rank != letters)) {
    FailOp("an operand has rank {}, the equation gives it {}{}", rank, letters, ellipsis ? " or more" : "");
  }
  std::vector<int> labels;
  for (char c : term) {
    if (c != '.') {
      labels.push_back(static_cast<unsigned char>(c));
      continue;
    }
    for (size_t i = rank - letters; i-- > 0;) labels.push_back(kEllipsis + static_cast<int>(i));
  }
  return labels;
}

std::vector<int> EinsumEquation::OutputLabels(const std::vector<std::vector<int>>& operands) const {
  std::map<int, int> uses;
  int ellipsis = 0;
  for (const std::vector<int>& labels : operands) {
    for (int label : labels) {
      ++uses[label];
      if (label >= kEllipsis) ellipsis = std::max(ellipsis, label - kEllipsis + 1);
    }
  }
  if (has_output) {
    const size_t letters = output.size() - (output.find('.') != std::string::npos ? 1 : 0);
    std::vector<int> labels = Labels(output, letters + (letters == output.size() ? 0 : static_cast<size_t>(ellipsis)));
    for (size_t i = 0; i < labels.size(); ++i) {
      if (uses[labels[i]] == 0) FailOp("output label '{}' is in no input", static_cast<char>(labels[i]));
      if (std::count(labels.begin(), labels.end(), labels[i]) > 1) {
        FailOp("output label '{}' appears twice", static_cast<char>(labels[i]));
      }
    }
    return labels;
  }
  std::vector<int> labels;
  for (int i = ellipsis; i-- > 0;) labels.push_back(kEllipsis + i);
  for (const auto& [label, count] : uses) {
    if (label < kEllipsis && count == 1) labels.push_back(label);
  }
  return labels;
}

}  // namespace epiphyte::cpu
