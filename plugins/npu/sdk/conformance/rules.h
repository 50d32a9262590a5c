// Rules: the demands of nsdk.h on an SDK, one number each. The numbers also stand in the header, behind the sentences
// that state the rules ("[N132]"), and never change. A rule that is given up leaves a gap.
//
//   for (const Rule& rule : AllRules()) rule.check(sdk);      // throws Failed, NotApplicable, NotReached
#pragma once

#include <span>

#include "sdk.h"

namespace epiphyte::nsdk_conformance {

struct Rule {
  int number;
  const char* text;    // the rule as a sentence
  const char* advice;  // what to do if the rule is broken
  void (*check)(Sdk& sdk);
};

// All rules in the order of their numbers.
std::span<const Rule> AllRules();

#define NSDK_RULE(number, check, text, advice) void check(Sdk& sdk);
#include "rules.inc"
#undef NSDK_RULE

}  // namespace epiphyte::nsdk_conformance
