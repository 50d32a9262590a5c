// Rules: what the headers of the plugin API demand of a plugin, one number each. The numbers stand in the headers too,
// beside the sentence that they stand for ("[R604]"), and never change; a rule that is given up leaves a gap.
//
//   const RuleText& rule = TextOf(Rule::kOneKernelForEachPartition);      // number 603, its sentence, what to do
#pragma once

#include <span>

namespace epiphyte::conformance {

enum class Rule : int {
#define EPIPHYTE_RULE(name, number, header, text, advice) name = number,
#include "host/conformance/rules/rules.inc"
#undef EPIPHYTE_RULE
};

struct RuleText {
  Rule rule;
  const char* header;  // header that states the rule
  const char* text;    // what holds
  const char* advice;  // what to do when it doesn't
};

// In the order of their numbers.
std::span<const RuleText> AllRules();
const RuleText& TextOf(Rule rule);

}  // namespace epiphyte::conformance
