// Catalogue: runs every operator's cases on one provider, each case in a child process, and returns counts and reasons.
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
  std::string operator_name;     // only this operator; "": all
  std::optional<DataType> type;  // only cases with this type of their first input
  RunnerOptions runner;
  // Called in each child process, before its first case.
  std::function<std::unique_ptr<core::Environment>()> make_environment;
  // Cases that are known to fail and must fail: "Conv/plain/17", or "Conv/plain" if any case of the form may fail.
  std::set<std::string> expected_failures;
};

// Counts of one operator.
struct OperatorReport {
  std::string name;  // name such as "Conv" or "com.microsoft.Gelu"
  size_t passed = 0;
  size_t failed = 0;
  size_t not_claimed = 0;
  size_t expected_failures = 0;
  size_t by_core = 0;                     // number of cases with Verdict::kByCore
  std::map<std::string, size_t> reasons;  // number of unclaimed cases by reason
  std::vector<std::string> failures;      // lines such as "Conv/plain/17: run 1: output 0 [3] is 1.5, expected 1.25"
};

struct CatalogueReport {
  std::string provider;
  std::vector<OperatorReport> operators;
  std::vector<std::string> surprises;  // errors in the list of expected failures, one per line

  OperatorReport Total() const;  // sums of the counts, without reasons and failures
  bool HasPassed() const;
};

// Returns a name such as "Conv/plain/17".
std::string CaseName(const OperatorCases& op, Form form, uint64_t number);

// Throws INVALID_ARGUMENT when no operator has the name.
CatalogueReport RunCatalogue(const CatalogueOptions& options);

// Writes a line for each operator with its failures, and a closing line with the counts. `verbose`: all failures with
// their cases' tensors, and the reasons for unclaimed cases.
void WriteText(std::ostream& out, const CatalogueReport& report, bool verbose);
std::string ToJson(const CatalogueReport& report);

}  // namespace epiphyte::operators
