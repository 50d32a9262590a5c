// Rules: the demands of the plugin API's headers on a plugin, with one number each. The headers have the same numbers
// beside the sentences ("[R604]"). A number never changes; a rule that is dropped leaves a gap.
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
  const char* text;    // the rule as a sentence
  const char* advice;  // advice when the rule is broken
};

// The rules in the order of their numbers.
std::span<const RuleText> AllRules();
const RuleText& TextOf(Rule rule);

}  // namespace epiphyte::conformance
