// The suite: it checks every rule in a process of its own. An SDK that crashes, hangs or ends the process fails only
// the rule that is being checked.
//
//   for (const Result& result : RunSuite({.library = "libvendor.so"}, {})) ...
#pragma once

#include <chrono>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "rules.h"

namespace epiphyte::nsdk_conformance {

enum class Outcome { kPass, kFail, kNotApplicable, kNotReached };

struct Result {
  const Rule* rule;
  Outcome outcome;
  std::string message;  // what was found, or why the rule wasn't checked
  double seconds;
};

struct SuiteOptions {
  bool fork = true;                 // false: in this process, for debuggers
  std::chrono::seconds limit{120};  // time limit for each rule
  std::set<int> rules;              // empty: all rules
};

// A rule is not reached when an earlier step fails that belongs to another rule. If no other rule failed, this rule
// fails.
std::vector<Result> RunSuite(const Target& target, const SuiteOptions& options);

void WriteText(std::ostream& out, const std::vector<Result>& results, bool verbose);
void WriteJson(std::ostream& out, const std::string& library, const std::vector<Result>& results);

}  // namespace epiphyte::nsdk_conformance
