// Fixture for sharing: models with the same weights, and sessions of share groups that compile and load them with
// recorder_a.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/context/context_proto.h"
#include "tests/framework/mappings.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {

inline constexpr int kWeights = 4096;

// All models multiply by the same weights. Model `n` then adds n, with an operator of its own. All graphs have the same
// name, as PyTorch's exporter gives it.
inline std::string ModelBytes(int n) {
  onnx::ModelProto model = ParseProto(OnnxFromText(
      "<ir_version: 8, opset_import: [\"\" : 17]> main_graph (float[" + std::to_string(kWeights) + "] x) => (float[" +
      std::to_string(kWeights) + "] y) { n = Constant <value = float[1] {" + std::to_string(n) + "}> () " +
      (n % 2 == 0 ? "p = Mul(x, weights) y = Add(p, n)" : "p = Mul(weights, x) q = Neg(p) y = Sub(q, n)") + "}"));
  ConstantsToInitializers(model.mutable_graph());
  onnx::TensorProto* weights = model.mutable_graph()->add_initializer();
  weights->set_name("weights");
  weights->set_data_type(onnx::TensorProto::FLOAT);
  weights->add_dims(kWeights);
  for (int i = 0; i < kWeights; ++i) weights->add_float_data(static_cast<float>(i) * 0.5f - 7);
  return model.SerializeAsString();
}

inline std::vector<float> ExpectedOf(int n) {
  std::vector<float> expected;
  for (int i = 0; i < kWeights; ++i) {
    float product = (static_cast<float>(i) * 0.5f - 7) * 3;
    expected.push_back(n % 2 == 0 ? product + static_cast<float>(n) : -product - static_cast<float>(n));
  }
  return expected;
}

inline bool Computes(core::Session& session, int n) {
  return RunOn(session, {kWeights}, std::vector<float>(kWeights, 3)) == ExpectedOf(n);
}

class Sharing : public testing::Test {
 protected:
  Sharing() {
    for (int n = 1; n <= 3; ++n) WriteModel(n);
  }
  void WriteModel(int n, const std::string& folder = "") { dir_.Write(folder + Name(n) + ".onnx", ModelBytes(n)); }
  static std::string Name(int n) { return "model" + std::to_string(n); }
  static std::string ContextOf(int n) { return Name(n) + "_ctx.onnx"; }

  core::SessionOptions Providers() const {
    core::SessionOptions options = OptionsFor({"recorder_a"});
    options.provider_options["recorder_a"]["ledger"] = ledger_.path();
    return options;
  }
  core::SessionOptions Compiling(bool last, const std::string& group = "") const {
    core::SessionOptions options = Providers();
    options.Set("ep.context_enable", "1");
    options.Set("ep.share_ep_contexts", "1");
    if (last) options.Set("ep.stop_share_ep_contexts", "1");
    if (!group.empty()) options.Set("epiphyte.share_group", group);
    return options;
  }
  core::SessionOptions Loading(const std::string& group = "") const {
    core::SessionOptions options = Providers();
    options.Set("ep.share_ep_contexts", "1");
    if (!group.empty()) options.Set("epiphyte.share_group", group);
    return options;
  }
  void Compile(const std::string& model, const core::SessionOptions& options) {
    core::Session session(*environment_, dir_ / model, options);
  }
  void CompileAll(int count) {
    for (int n = 1; n <= count; ++n) Compile(Name(n) + ".onnx", Compiling(n == count));
  }
  std::unique_ptr<core::Session> Load(int n, const core::SessionOptions& options) {
    return std::make_unique<core::Session>(*environment_, dir_ / ContextOf(n), options);
  }
  // Returns the files in the folder other than the three source models.
  std::vector<std::string> Written() const {
    std::vector<std::string> names = FilesIn(dir_.path());
    std::erase_if(names, [](const std::string& name) {
      return name == "model1.onnx" || name == "model2.onnx" || name == "model3.onnx";
    });
    return names;
  }

  TempDir dir_;
  TempDir other_;
  Ledger ledger_{other_ / "ledger"};
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
};

}  // namespace epiphyte::test
