// BackendCase: one folder in the layout of ONNX's backend tests: model.onnx and test_data_set_<N>/input_<M>.pb and
// output_<M>.pb.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/session.h"
#include "host/conformance/cases/compare_values.h"

namespace onnx {
class ModelProto;
}

namespace epiphyte::test {

struct BackendCase {
  std::string name;  // name of the folder
  std::filesystem::path folder;
};

// Returns every case at or below `root`, sorted by name. A model without data sets is not a case.
std::vector<BackendCase> FindBackendCases(const std::filesystem::path& root);

struct BackendRunOptions {
  std::vector<std::string> providers;  // in order of priority; empty: the catalog's order
  std::map<std::string, std::map<std::string, std::string>> provider_options;  // by provider, then by key
  bool via_context = false;    // true: compile to a context model and run that
  bool embed_context = false;  // true: with embedded payloads, without files beside the model
  bool claimed_only = false;   // see kNotClaimed
  int runs = 1;                // runs of each data set in one session
  conformance::Tolerance tolerance{.relative = 1e-3, .absolute = 1e-5};
};

// Prefix of the result for a case that is not run because the listed providers do not claim all of its nodes
// (BackendRunOptions::claimed_only). The first unclaimed node and the reason follow.
inline constexpr std::string_view kNotClaimed = "not claimed: ";

// Returns whether the model draws random numbers, so that only types and shapes of its outputs are the same each time.
bool DrawsRandomNumbers(const onnx::ModelProto& model);

// Returns "" when every data set gives the expected outputs, else one line with the reason. Outputs of operators that
// draw random numbers are compared by type and shape only.
std::string RunBackendCase(core::Environment& environment, const BackendCase& test, const BackendRunOptions& options);

}  // namespace epiphyte::test
