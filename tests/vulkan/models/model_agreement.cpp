#include "tests/vulkan/models/model_agreement.h"

#include <gtest/gtest.h>

#include <set>

#include "host/conformance/cases/compare_values.h"
#include "tests/framework/test_session.h"
#include "tests/models/models.h"
#include "tests/models/sample_inputs.h"
#include "tests/onnx_backend/value_files.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

constexpr conformance::Tolerance kTolerance = {.relative = 1e-3, .absolute = 1e-4};

core::SessionOptions Options(std::vector<std::string> providers) {
  core::SessionOptions options = OptionsFor(std::move(providers));
  options.thread_count = 2;
  return options;
}

}  // namespace

bool ModelAgreement::HasDevice() { return vulkan::PinLavapipe(); }

ModelAgreement::ModelAgreement(const std::string& model) : name_(model) {
  HasDevice();
  environment_ = BuildTreeEnvironment();
  model_ = WriteModel(model, SharedModels(EPIPHYTE_BINARY_DIR, dir_ / "models"));
  inputs_ = ReadTensorFiles(WriteSampleInputs(model, dir_.path()), "input_");
  core::Session cpu(*environment_, model_, Options({"cpu"}));
  expected_ = cpu.Run(inputs_);
  placement_ = core::PlaceModel(*environment_, model_, Options({"vulkan", "cpu"}));
}

fs::path ModelAgreement::Compile(bool embed) {
  core::SessionOptions options = Options({"vulkan", "cpu"});
  options.Set("ep.context_enable", "1");
  options.Set("ep.context_embed_mode", embed ? "1" : "0");
  fs::path context_model = dir_ / (embed ? "embedded_ctx.onnx" : "model_ctx.onnx");
  options.Set("ep.context_file_path", context_model.string());
  core::Session session(*environment_, model_, options);
  return context_model;
}

void ModelAgreement::Check(Route route) {
  const fs::path model = route == Route::kFile ? model_ : Compile(route == Route::kEmbeddedContext);
  core::Session session(*environment_, model, Options({"vulkan", "cpu"}));
  EXPECT_EQ(session.has_context(), route != Route::kFile);
  for (int run = 1; run <= 2; ++run) {
    const std::vector<core::ValuePtr> outputs = session.Run(inputs_);
    ASSERT_EQ(outputs.size(), expected_.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_EQ(conformance::CompareValues(*outputs[i], *expected_[i], kTolerance).difference, "")
          << name_ << ", output '" << session.outputs()[i].name << "', run " << run;
  }
}

double ModelAgreement::Share() const {
  size_t taken = 0;
  for (const core::NodePlacement& node : placement_.nodes) taken += node.provider == "vulkan";
  return placement_.nodes.empty() ? 0 : static_cast<double>(taken) / static_cast<double>(placement_.nodes.size());
}

size_t ModelAgreement::Partitions() const {
  std::set<std::string> partitions;
  for (const core::NodePlacement& node : placement_.nodes)
    if (node.provider == "vulkan") partitions.insert(node.partition);
  return partitions.size();
}

std::string ModelAgreement::Others() const {
  std::string lines;
  for (const core::NodePlacement& node : placement_.nodes) {
    if (node.provider == "vulkan") continue;
    lines += node.op_type + " '" + node.name + "' on " + node.provider;
    for (const core::Decline& decline : node.declines)
      if (decline.provider == "vulkan") lines += ": " + decline.reason;
    lines += '\n';
  }
  return lines;
}

}  // namespace epiphyte::test
