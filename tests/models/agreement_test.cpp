// Outputs of generated models agree with those of ONNX Runtime 1.30, which tests/models/expected/<model> holds (made by
// epiphyte_ort_bench --outputs; large outputs are left out), whichever way the model gets into a session.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/onnx/tensor_io.h"
#include "core/runtime/session.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/models/models.h"
#include "tests/models/sample_inputs.h"
#include "host/conformance/compare_values.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

enum class Route { kPlain, kContext, kEmbeddedContext };

fs::path ExpectedFolder() { return fs::path(EPIPHYTE_SOURCE_DIR) / "tests/models/expected"; }

// The small models have no long sums in which rounding could add up.
conformance::Tolerance ToleranceOf(std::string_view model) {
  const bool large = model == "resnet50" || model == "mobilenetv2" || model == "squeezenet1.1" || model == "bert_base";
  return {.relative = 1e-3, .absolute = large ? 1e-4 : 1e-5};
}

core::SessionOptions Options() {
  core::SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 2;
  return options;
}

fs::path CompileContext(core::Environment& environment, const fs::path& model, bool embed, const TempDir& dir) {
  core::SessionOptions options = Options();
  options.Set("ep.context_enable", "1");
  options.Set("ep.context_embed_mode", embed ? "1" : "0");
  fs::path context_model = dir / "model_ctx.onnx";
  options.Set("ep.context_file_path", context_model.string());
  core::Session session(environment, model, options);
  return context_model;
}

using Parameter = std::tuple<std::string, Route>;

std::string NameOf(const ::testing::TestParamInfo<Parameter>& info) {
  static constexpr const char* kRoutes[] = {"plain", "context", "embedded"};
  std::string name = std::get<0>(info.param) + "_" + kRoutes[static_cast<int>(std::get<1>(info.param))];
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class Agreement : public ::testing::TestWithParam<Parameter> {};

INSTANTIATE_TEST_SUITE_P(WithOnnxRuntime, Agreement,
                         ::testing::Combine(::testing::Values("resnet50", "mobilenetv2", "squeezenet1.1", "bert_base",
                                                              "lstm_tagger", "detector_tail", "control_flow",
                                                              "chain_1000"),
                                            ::testing::Values(Route::kPlain, Route::kContext, Route::kEmbeddedContext)),
                         NameOf);

TEST_P(Agreement, IsWithinTheTolerance) {
  const auto& [name, route] = GetParam();
  const TempDir dir;
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  fs::path model = WriteModel(name, SharedModels(EPIPHYTE_BINARY_DIR, dir / "models"));
  if (route != Route::kPlain) model = CompileContext(*environment, model, route == Route::kEmbeddedContext, dir);

  core::Session session(*environment, model, Options());
  EXPECT_EQ(session.has_context(), route != Route::kPlain);
  const std::vector<core::ValuePtr> inputs = ReadTensorFiles(WriteSampleInputs(name, dir.path()), "input_");
  const std::vector<core::ValuePtr> outputs = session.Run(inputs);

  size_t compared = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path file = ExpectedFolder() / name / ("output_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) continue;
    const core::ValuePtr expected = core::ReadValueFile(file, *session.outputs()[i].type);
    EXPECT_EQ(conformance::CompareValues(*outputs[i], *expected, ToleranceOf(name)).difference, "") << session.outputs()[i].name;
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

}  // namespace
}  // namespace epiphyte::test
