// Operator cases: models with inputs and expected outputs in the layout of ONNX's backend tests. They run through the
// whole host on the plugin alone: directly, through a context beside the model, and through one in the model.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "host/conformance/plugin/plugin_library.h"
#include "host/conformance/rules/journal.h"

namespace epiphyte::conformance {

struct CaseOptions {
  std::filesystem::path models;                          // folder that contains the cases
  std::vector<std::filesystem::path> expected_failures;  // files with the names of cases that may fail
};

struct CaseCounts {
  size_t found = 0;
  size_t claimed = 0;        // cases that the plugin claims completely; only these run
  size_t right = 0;          // cases with right results when run directly
  size_t right_context = 0;  // cases with right results through a context beside the model and through one in the model
  size_t right_embedded = 0;
};

// Throws NO_SUCHFILE when the folder does not exist.
CaseCounts RunOperatorCases(Journal& journal, const Target& target, const CaseOptions& options);

}  // namespace epiphyte::conformance
