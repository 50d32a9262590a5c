// Rules: what nsdk.h demands of an SDK, one number each. The numbers stand in the header too, beside the sentence that
// they stand for ("[N132]"), and never change; a rule that is given up leaves a gap.
//
//   for (const Rule& rule : AllRules()) rule.check(sdk);      // throws Failed, NotApplicable, NotReached
#pragma once

#include <span>

#include "sdk.h"

namespace epiphyte::nsdk_conformance {

struct Rule {
  int number;
  const char* text;    // what holds
  const char* advice;  // what to do when it doesn't
  void (*check)(Sdk& sdk);
};

// All rules in the order of their numbers.
std::span<const Rule> AllRules();

#define NSDK_RULE(number, check, text, advice) void check(Sdk& sdk);
#include "rules.inc"
#undef NSDK_RULE

}  // namespace epiphyte::nsdk_conformance
