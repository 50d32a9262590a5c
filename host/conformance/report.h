// Report: one outcome for each rule, as text for people and as JSON for programs.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/conformance/cases/operator_cases.h"
#include "host/conformance/rules/journal.h"

namespace epiphyte::conformance {

struct RuleResult {
  Rule rule;
  Outcome outcome = Outcome::kNotApplicable;
  std::string message;
};

// A rule that failed once has failed; one that nothing was found about was not reached.
std::vector<RuleResult> Summarize(std::span<const Finding> findings);

// Every failure with what to do, how many cases ran, and a last line with the counts. `verbose`: the other rules, too.
void WriteText(std::ostream& out, std::span<const RuleResult> results, bool verbose,
               const std::optional<CaseCounts>& cases = std::nullopt);
// `operators`: the catalogue's report as JSON, or "".
void WriteJson(std::ostream& out, const std::string& target, std::span<const RuleResult> results,
               const std::optional<CaseCounts>& cases = std::nullopt, const std::string& operators = "");

}  // namespace epiphyte::conformance
