#include "host/conformance/report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/base/text.h"

namespace epiphyte::conformance {
namespace {

const char* NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass: return "pass";
    case Outcome::kFail: return "fail";
    default: return "not applicable";
  }
}

}  // namespace

std::vector<RuleResult> Summarize(std::span<const Finding> findings) {
  // The worst finding counts: first a failure, then a pass, then a reason why a rule doesn't apply.
  std::map<Rule, Finding> worst;
  const auto weight = [](Outcome outcome) { return outcome == Outcome::kFail ? 2 : outcome == Outcome::kPass ? 1 : 0; };
  int first_failure = 0;
  for (const Finding& finding : findings) {
    if (finding.outcome == Outcome::kFail && first_failure == 0) first_failure = static_cast<int>(finding.rule);
    const auto [at, is_new] = worst.emplace(finding.rule, finding);
    if (!is_new && weight(finding.outcome) > weight(at->second.outcome)) at->second = finding;
  }
  std::vector<RuleResult> results;
  for (const RuleText& text : AllRules()) {
    const auto found = worst.find(text.rule);
    if (found != worst.end()) {
      results.push_back({text.rule, found->second.outcome, core::PrintableLine(found->second.message, 1024)});
    } else {
      const std::string why =
          first_failure == 0 ? "no check reached it" : fmt::format("not reached, since rule {} failed", first_failure);
      results.push_back({text.rule, Outcome::kNotApplicable, why});
    }
  }
  return results;
}

void WriteText(std::ostream& out, std::span<const RuleResult> results, bool verbose,
               const std::optional<CaseCounts>& cases) {
  std::map<Outcome, size_t> counts;
  for (const RuleResult& result : results) {
    ++counts[result.outcome];
    const RuleText& text = TextOf(result.rule);
    if (result.outcome == Outcome::kFail) {
      fmt::print(out, "R{} FAIL {}\n  found: {}\n  do: {} (see {})\n", static_cast<int>(result.rule), text.text,
                 result.message, text.advice, text.header);
    } else if (verbose) {
      fmt::print(out, "R{} {} {}{}{}\n", static_cast<int>(result.rule), NameOf(result.outcome), text.text,
                 result.message.empty() ? "" : ": ", result.message);
    }
  }
  if (cases) {
    fmt::print(
        out,
        "{} of {} cases ran on the plugin: {} right as they are, {} through a context, {} through an embedded one\n",
        cases->claimed, cases->found, cases->right, cases->right_context, cases->right_embedded);
  }
  fmt::print(out, "{} rules passed, {} failed, {} not applicable\n", counts[Outcome::kPass], counts[Outcome::kFail],
             counts[Outcome::kNotApplicable]);
}

void WriteJson(std::ostream& out, const std::string& target, std::span<const RuleResult> results,
               const std::optional<CaseCounts>& cases, const std::string& operators) {
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  std::map<Outcome, size_t> counts;
  for (const RuleResult& result : results) {
    ++counts[result.outcome];
    const RuleText& text = TextOf(result.rule);
    nlohmann::ordered_json rule = {{"rule", static_cast<int>(result.rule)},
                                   {"outcome", NameOf(result.outcome)},
                                   {"header", text.header},
                                   {"text", text.text}};
    if (!result.message.empty()) rule["message"] = result.message;
    if (result.outcome == Outcome::kFail) rule["do"] = text.advice;
    rules.push_back(std::move(rule));
  }
  nlohmann::ordered_json report = {{"plugin", target},
                                   {"passed", counts[Outcome::kPass]},
                                   {"failed", counts[Outcome::kFail]},
                                   {"not_applicable", counts[Outcome::kNotApplicable]},
                                   {"rules", rules}};
  if (cases) {
    report["cases"] = {{"found", cases->found},
                       {"ran", cases->claimed},
                       {"right", cases->right},
                       {"right_via_context", cases->right_context},
                       {"right_via_embedded_context", cases->right_embedded}};
  }
  if (!operators.empty()) report["operators"] = nlohmann::ordered_json::parse(operators);
  out << report.dump(2) << "\n";
}

}  // namespace epiphyte::conformance
