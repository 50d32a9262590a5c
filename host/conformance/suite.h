// Suite: the target that a command line names, and all checks on it.
//
//   const Target target = ReadTarget("libnegator.so");
//   const std::vector<RuleResult> results = RunSuite(target, {});
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "host/conformance/cases/operator_cases.h"
#include "host/conformance/plugin/plugin_library.h"
#include "host/conformance/process/isolated_check.h"
#include "host/conformance/report.h"

namespace epiphyte::conformance {

// Reads a manifest, or takes a library. Throws NO_SUCHFILE and INVALID_ARGUMENT.
Target ReadTarget(const std::filesystem::path& path);

struct SuiteOptions {
  Isolation isolation;
  std::optional<CaseOptions> cases;
};
// `counts` gets the counts of the operator cases if they ran; it may be null.
std::vector<RuleResult> RunSuite(const Target& target, const SuiteOptions& options,
                                 std::optional<CaseCounts>* counts = nullptr);

}  // namespace epiphyte::conformance
