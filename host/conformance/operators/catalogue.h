// Catalogue: every operator's cases on one provider, each case in a child process, with counts and reasons.
//
//   CatalogueOptions options = {.forms = {Form::kPlain}, .runner = {.provider = "vulkan"}};
//   options.make_environment = [] { return std::make_unique<core::Environment>(core::CatalogOptions()); };
//   const CatalogueReport report = RunCatalogue(options);
//   WriteText(std::cout, report, /*verbose=*/false);
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/conformance/operators/make_case.h"
#include "host/conformance/operators/runner.h"

namespace epiphyte::operators {

struct CatalogueOptions {
  std::vector<Form> forms = {Form::kPlain, Form::kSpecial, Form::kBad, Form::kHostile, Form::kQuantized};
  uint64_t first = 0;
  uint64_t cases = 20;           // cases of each form of each operator
  std::string operator_name;     // only this one; "": all
  std::optional<DataType> type;  // only cases with this type of their first input
  RunnerOptions runner;
  // Called in the child process, before its first case.
  std::function<std::unique_ptr<core::Environment>()> make_environment;
  // Cases that are known to fail, and must: "Conv/plain/17", or "Conv/plain" when any of them may.
  std::set<std::string> expected_failures;
};

// Counts of one operator.
struct OperatorReport {
  std::string name;  // "Conv", "com.microsoft.Gelu"
  size_t passed = 0;
  size_t failed = 0;
  size_t not_claimed = 0;
  size_t expected_failures = 0;
  size_t by_core = 0;                     // see Verdict
  std::map<std::string, size_t> reasons;  // why cases were not claimed
  std::vector<std::string> failures;      // "Conv/plain/17: run 1: output 0 [3] is 1.5, expected 1.25"
};

struct CatalogueReport {
  std::string provider;
  std::vector<OperatorReport> operators;
  std::vector<std::string> surprises;  // mistakes in the list of expected failures, a line each

  OperatorReport Total() const;  // without reasons and failures
  bool HasPassed() const;
};

// "Conv/plain/17"
std::string CaseName(const OperatorCases& op, Form form, uint64_t number);

// Throws INVALID_ARGUMENT when no operator has the name.
CatalogueReport RunCatalogue(const CatalogueOptions& options);

// A line for each operator with its failures, then a closing line with the counts. `verbose`: all failures with their
// cases' tensors, and the reasons for cases that are not claimed.
void WriteText(std::ostream& out, const CatalogueReport& report, bool verbose);
std::string ToJson(const CatalogueReport& report);

}  // namespace epiphyte::operators
