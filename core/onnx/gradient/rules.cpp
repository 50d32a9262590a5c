#include "core/onnx/gradient/rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace epiphyte::core::gradient {
namespace {

constexpr std::string_view kFlat[] = {"And",
                                      "ArgMax",
                                      "ArgMin",
                                      "Bernoulli",
                                      "Ceil",
                                      "Equal",
                                      "EyeLike",
                                      "Floor",
                                      "Greater",
                                      "GreaterOrEqual",
                                      "Hardmax",
                                      "IsInf",
                                      "IsNaN",
                                      "Less",
                                      "LessOrEqual",
                                      "NonZero",
                                      "Not",
                                      "Or",
                                      "RandomNormalLike",
                                      "RandomUniformLike",
                                      "Round",
                                      "Shape",
                                      "Sign",
                                      "Size",
                                      "Xor"};

std::array<std::span<const NamedRule>, 6> Families() {
  return {ElementwiseRules(), ProductRules(), MovementRules(), ReductionRules(), CompositionRules(), WindowRules()};
}

Rule FindRule(const Node& node) {
  if (!node.domain().empty()) return nullptr;
  for (const std::span<const NamedRule> family : Families()) {
    for (const NamedRule& named : family)
      if (named.op_type == node.op_type()) return named.rule;
  }
  return nullptr;
}

bool IsFlat(const Node& node) {
  return node.domain().empty() && std::find(std::begin(kFlat), std::end(kFlat), node.op_type()) != std::end(kFlat);
}

std::string RuleNames() {
  std::vector<std::string_view> names;
  for (const std::span<const NamedRule> family : Families()) {
    for (const NamedRule& named : family) names.push_back(named.op_type);
  }
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

constexpr Rulebook kAllRules = {FindRule, IsFlat, RuleNames};

}  // namespace

const Rulebook& Rules() { return kAllRules; }

}  // namespace epiphyte::core::gradient
