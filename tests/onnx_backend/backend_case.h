// BackendCase: one folder in the layout of ONNX's backend tests: model.onnx and test_data_set_<N>/input_<M>.pb,
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

// Every case at or below `root`, sorted by name. A model without data sets is no case.
std::vector<BackendCase> FindBackendCases(const std::filesystem::path& root);

struct BackendRunOptions {
  std::vector<std::string> providers;  // in order of priority; empty: the catalog's order
  std::map<std::string, std::map<std::string, std::string>> provider_options;  // by provider, then by key
  bool via_context = false;    // compile to a context model first and run that
  bool embed_context = false;  // its payloads in the model, not in a file beside it
  bool claimed_only = false;   // see kNotClaimed
  int runs = 1;                // runs of each data set in one session
  conformance::Tolerance tolerance{.relative = 1e-3, .absolute = 1e-5};
};

// With BackendRunOptions::claimed_only, what answers for a case begin with that have nodes of other providers than
// those that were listed: behind it stands which one, and why. Such a case isn't run.
inline constexpr std::string_view kNotClaimed = "not claimed: ";

// Whether only the types and shapes of the model's outputs are the same each time.
bool DrawsRandomNumbers(const onnx::ModelProto& model);

// "" when every data set gives the expected outputs; else one line that says why not. Outputs of operators that draw
// random numbers are compared by type and shape.
std::string RunBackendCase(core::Environment& environment, const BackendCase& test, const BackendRunOptions& options);

}  // namespace epiphyte::test
