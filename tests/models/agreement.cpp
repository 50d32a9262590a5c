#include "tests/models/agreement.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "core/onnx/write/tensor_io.h"
#include "core/runtime/session.h"
#include "host/conformance/cases/compare_values.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/models/models.h"
#include "tests/models/sample_inputs.h"
#include "tests/models/variants/variant.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

fs::path ExpectedFolder(std::string_view model) {
  const auto [base, variant] = SplitVariant(model);
  std::string name(base);
  if (variant != nullptr) name += variant->values;
  return fs::path(EPIPHYTE_SOURCE_DIR) / "tests/models/expected" / name;
}

conformance::Tolerance ToleranceOf(std::string_view model) {
  // float16 sums depend on the order of the additions. An 8-bit number depends on the side of a border on which its sum
  // falls.
  if (model.ends_with("_f16")) return {.relative = 2e-2, .absolute = 5e-3};
  if (model.ends_with("_int8")) return {.relative = 2e-2, .absolute = 2e-2};
  // The small models have no long sums, so rounding errors don't add up.
  static constexpr std::string_view kSmall[] = {"lstm_tagger", "detector_tail", "control_flow",
                                                "chain_1000",  "wake_word",     "voice_activity"};
  const bool small = std::ranges::find(kSmall, SplitVariant(model).base) != std::end(kSmall);
  return {.relative = 1e-3, .absolute = small ? 1e-5 : 1e-4};
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

}  // namespace

std::string NameOfAgreement(const ::testing::TestParamInfo<AgreementParameter>& info) {
  static constexpr const char* kRoutes[] = {"plain", "context", "embedded"};
  std::string name = std::get<0>(info.param) + "_" + kRoutes[static_cast<int>(std::get<1>(info.param))];
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

void ExpectAgreement(const std::string& name, Route route) {
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
    for (const bool thinned : {false, true}) {
      const std::string file_name = (thinned ? "thinned_" : "output_") + std::to_string(i) + ".pb";
      const fs::path file = ExpectedFolder(name) / file_name;
      if (!fs::exists(file)) continue;
      const core::ValuePtr expected = core::ReadValueFile(file, *session.outputs()[i].type);
      const core::ValuePtr actual = thinned ? Thinned(*outputs[i]) : outputs[i];
      EXPECT_EQ(conformance::CompareValues(*actual, *expected, ToleranceOf(name)).difference, "")
          << session.outputs()[i].name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 0u) << "no expected outputs in " << ExpectedFolder(name);
}

}  // namespace epiphyte::test
