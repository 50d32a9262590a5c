// Differentiation rules, by ai.onnx operator.
#pragma once

#include <span>
#include <string_view>

#include "core/onnx/gradient/tape.h"

namespace epiphyte::core::gradient {

struct NamedRule {
  std::string_view op_type;
  Rule rule;
};

// Rules by family.
std::span<const NamedRule> ElementwiseRules();
std::span<const NamedRule> ProductRules();
std::span<const NamedRule> MovementRules();
std::span<const NamedRule> ReductionRules();
std::span<const NamedRule> CompositionRules();
std::span<const NamedRule> WindowRules();

// All rules.
const Rulebook& Rules();

}  // namespace epiphyte::core::gradient
