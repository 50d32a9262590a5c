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

// A rule with a failure has failed. A rule without findings was not reached.
std::vector<RuleResult> Summarize(std::span<const Finding> findings);

// Writes every failure with advice, how many cases ran, and a last line with the counts. `verbose`: also the other
// rules.
void WriteText(std::ostream& out, std::span<const RuleResult> results, bool verbose,
               const std::optional<CaseCounts>& cases = std::nullopt);
// `operators` is the catalogue's report as JSON, or "".
void WriteJson(std::ostream& out, const std::string& target, std::span<const RuleResult> results,
               const std::optional<CaseCounts>& cases = std::nullopt, const std::string& operators = "");

}  // namespace epiphyte::conformance
