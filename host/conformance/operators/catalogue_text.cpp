#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "host/conformance/operators/catalogue.h"

namespace epiphyte::operators {
namespace {

constexpr size_t kMostFailures = 3;  // most failures of an operator that are listed, unless `verbose`

std::string Counts(const OperatorReport& one) {
  return fmt::format("{} passed, {} failed, {} not claimed, {} expected failures, {} by the core", one.passed,
                     one.failed, one.not_claimed, one.expected_failures, one.by_core);
}
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

size_t CasesOf(const OperatorReport& one) {
  return one.passed + one.failed + one.not_claimed + one.expected_failures + one.by_core;
}

}  // namespace

void WriteText(std::ostream& out, const CatalogueReport& report, bool verbose) {
  for (const OperatorReport& one : report.operators) {
    if (CasesOf(one) == 0) continue;
    fmt::print(out, "{} {}: {}\n", report.provider, one.name, Counts(one));
    size_t shown = 0;
    for (const std::string& failure : one.failures) {
      if (!verbose && shown++ == kMostFailures) break;
      fmt::print(out, "  {}\n", verbose ? failure : FirstLine(failure));
    }
    if (!verbose) continue;
    for (const auto& [reason, count] : one.reasons) fmt::print(out, "  not claimed, {}: {}\n", count, reason);
  }
  for (const std::string& surprise : report.surprises) fmt::print(out, "expected failures: {}\n", surprise);
  const OperatorReport total = report.Total();
  fmt::print(out, "{}: {} cases of {} operators: {}\n", report.provider, CasesOf(total), report.operators.size(),
             Counts(total));
}

std::string ToJson(const CatalogueReport& report) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const OperatorReport& one : report.operators) {
    nlohmann::ordered_json entry = {{"operator", one.name},
                                    {"passed", one.passed},
                                    {"failed", one.failed},
                                    {"not_claimed", one.not_claimed},
                                    {"expected_failures", one.expected_failures},
                                    {"by_core", one.by_core}};
    if (!one.reasons.empty()) entry["reasons"] = one.reasons;
    if (!one.failures.empty()) entry["failures"] = one.failures;
    json.push_back(std::move(entry));
  }
  const OperatorReport total = report.Total();
  const nlohmann::ordered_json all = {{"passed", total.passed},
                                      {"failed", total.failed},
                                      {"not_claimed", total.not_claimed},
                                      {"expected_failures", total.expected_failures},
                                      {"by_core", total.by_core},
                                      {"surprises", report.surprises},
                                      {"operators", json}};
  return all.dump();
}

}  // namespace epiphyte::operators
