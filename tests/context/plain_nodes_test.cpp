// Plain nodes of a context model stay with the provider that had them when the model was compiled. Loading compiles
// only nodes that compiling did, even if plugins would now claim more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/context/context_metadata.h"
#include "core/context/merge.h"
#include "core/registry/catalog.h"
#include "epiphyte/kit/plugin/plugin.hpp"
#include "tests/context/context_proto.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

// A plugin without contexts. It computes Neg, and compiles whenever a session is created.
namespace {

namespace kit = epiphyte::kit;

int abacus_compiled = 0;

class AbacusProvider : public kit::Provider {
 public:
  explicit AbacusProvider(const kit::ProviderConfig&) {}
  bool Supports(const kit::NodeView& node, std::string*) override { return node.Is("Neg"); }
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override {
    struct Negate : kit::Kernel {
      explicit Negate(bool odd) : sign(odd ? -1.0f : 1.0f) {}
      void Execute(const kit::Run& run) override {
        const EpTensorView& x = run.input(0);
        float* y = run.Output<float>(0, EP_TYPE_FLOAT, {x.dims, x.rank});
        for (uint64_t i = 0; i < x.element_count; ++i) y[i] = sign * static_cast<const float*>(x.data)[i];
      }
      float sign;
    };
    ++abacus_compiled;
    return std::make_unique<Negate>(partition.graph.node_count() % 2 == 1);
  }
};

}  // namespace

EPIPHYTE_KIT_PLUGIN(AbacusProvider, "abacus", "tests", "1.0.0", "Abacus")

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// In this model a recording plugin may claim Mul, Neg and Abs; Tanh is for the fallback.
constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  main_graph (float[3] x) => (float[3] y) {
    w = Constant <value = float[3] {2, -3, 0.5}> ()
    a = Mul(x, w) b = Neg(a) c = Tanh(b) y = Abs(c)
  })";

class PlainNodes : public testing::Test {
 protected:
  PlainNodes() {
    dir_.Write("model.onnx", OnnxFromText(kModel));
    expected_ = Run("model.onnx", OptionsFor({"cpu"}));
  }

  // Options for compiling: the recording plugin does not claim Neg.
  SessionOptions Compiling(std::vector<std::string> providers = {"recorder_a"}) const {
    SessionOptions options = OptionsFor(std::move(providers));
    options.provider_options["recorder_a"]["claim"] = "Mul,Abs";
    options.Set("ep.context_enable", "1");
    return options;
  }
  // Options for loading: the recording plugin would claim Neg.
  SessionOptions Loading(std::vector<std::string> providers = {"recorder_a"}) const {
    SessionOptions options = OptionsFor(std::move(providers));
    for (const auto& provider : options.providers) {
      if (provider.name == "recorder_a" || provider.name == "recorder_b")
        options.provider_options[provider.name]["ledger"] = ledger_.path();
    }
    return options;
  }
  void Compile(const SessionOptions& options) { Session session(*environment_, dir_ / "model.onnx", options); }
  std::vector<float> Run(const std::string& name, const SessionOptions& options) {
    Session session(*environment_, dir_ / name, options);
    placed_.clear();
    for (const core::NodePlacement& node : session.placement().nodes) placed_[node.op_type] = node.provider;
    return RunOn(session, {3}, {0.25, -1, 2});
  }

  TempDir dir_;
  TempDir other_;
  Ledger ledger_{other_ / "ledger"};
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
  std::vector<float> expected_;
  std::map<std::string, std::string> placed_;  // provider by operator
};

// Runs with a model as this host wrote it, and as another tool would have written it.
class PlainNodesOf : public PlainNodes, public testing::WithParamInterface<bool> {
 protected:
  void Compile(const SessionOptions& options) {
    PlainNodes::Compile(options);
    if (!GetParam()) return;
    onnx::ModelProto model = ParseProtoFile(dir_ / "model_ctx.onnx");
    ForgetRecords(&model);
    dir_.Write("model_ctx.onnx", model.SerializeAsString());
  }
};

INSTANTIATE_TEST_SUITE_P(Tool, PlainNodesOf, testing::Bool(),
                         [](const auto& info) { return info.param ? "Another" : "Ours"; });

TEST_P(PlainNodesOf, APluginThatWouldTakeMoreByNowCompilesNothing) {
  Compile(Compiling());
  for (const char* disabled : {"0", "1"}) {
    SessionOptions options = Loading();
    options.Set("session.disable_model_compile", disabled);
    EXPECT_EQ(Run("model_ctx.onnx", options), expected_) << disabled;
    EXPECT_EQ(placed_["Neg"], "cpu");
    EXPECT_EQ(placed_["Tanh"], "cpu");
    EXPECT_EQ(placed_["EPContext"], "recorder_a");
  }
  EXPECT_EQ(ledger_.Count("compile"), 0u);
  EXPECT_EQ(ledger_.Count("parse"), 2u);
}

TEST_P(PlainNodesOf, PluginInstalledLaterGetsNoPlainNodes) {
  Compile(Compiling());
  for (const char* disabled : {"0", "1"}) {
    SessionOptions options = Loading({"recorder_b", "recorder_a"});
    options.Set("session.disable_model_compile", disabled);
    EXPECT_EQ(Run("model_ctx.onnx", options), expected_);
    EXPECT_EQ(placed_["Neg"], "cpu");
  }
  EXPECT_EQ(ledger_.Count("compile"), 0u);
}

// The fallback runs plain nodes without compiling them, even if the user lists it.
TEST_P(PlainNodesOf, TheListedFallbackRunsThemWhereCompilingIsDisabled) {
  Compile(Compiling());
  SessionOptions options = Loading({"recorder_a", "cpu"});
  options.Set("session.disable_model_compile", "1");
  EXPECT_EQ(Run("model_ctx.onnx", options), expected_);
  EXPECT_THAT(FailureOf([&] { Run("model.onnx", options); }),
              AllOf(HasSubstr("MODEL_REQUIRES_COMPILATION"), HasSubstr("load a context model instead")));
}

// If its provider is missing, a plain node is compiled by another provider rather than not run. Its partition gets a
// name that is not in the payload.
TEST_P(PlainNodesOf, NodesWithoutTheirProviderAreOfferedToTheOthers) {
  dir_.Write("model.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    main_graph (float[3] x) => (float[3] y) {
      w = Constant <value = float[3] {2, -3, 0.5}> ()
      a = Mul(x, w) b = Neg(a) y = Abs(b)
    })"));
  expected_ = Run("model.onnx", OptionsFor({"cpu"}));
  Compile(Compiling());
  SessionOptions options = Loading();
  options.Set("session.disable_cpu_ep_fallback", "1");
  EXPECT_EQ(Run("model_ctx.onnx", options), expected_);
  EXPECT_EQ(placed_["Neg"], "recorder_a");
  EXPECT_THAT(ledger_.Lines(), testing::Contains("compile main_graph_recorder_a_2"));
  options.Set("session.disable_model_compile", "1");
  EXPECT_THAT(FailureOf([&] { Run("model_ctx.onnx", options); }),
              AllOf(HasSubstr("MODEL_REQUIRES_COMPILATION"), HasSubstr("'recorder_a'"), HasSubstr("plain nodes")));
}

// A provider without contexts compiles at each load, so it gets the nodes that it had, or none if it had none.
TEST_P(PlainNodesOf, ProviderWithoutContextsGetsItsNodesAgain) {
  environment_->catalog().Register(EpPluginQuery, 10);
  Compile(Compiling({"recorder_a", "abacus"}));
  abacus_compiled = 0;
  EXPECT_EQ(Run("model_ctx.onnx", Loading({"recorder_a", "abacus"})), expected_);
  EXPECT_EQ(placed_["Neg"], "abacus");
  EXPECT_EQ(abacus_compiled, 1);
  // If the session does not list that provider, the fallback gets the nodes.
  EXPECT_EQ(Run("model_ctx.onnx", Loading()), expected_);
  EXPECT_EQ(placed_["Neg"], "cpu");
  EXPECT_EQ(ledger_.Count("compile"), 0u);
}

TEST_F(PlainNodes, ProviderWithoutNodesInTheModelGetsNone) {
  environment_->catalog().Register(EpPluginQuery, 10);
  Compile(Compiling());
  abacus_compiled = 0;
  for (const char* disabled : {"0", "1"}) {
    SessionOptions options = Loading({"abacus", "recorder_a"});
    options.Set("session.disable_model_compile", disabled);
    EXPECT_EQ(Run("model_ctx.onnx", options), expected_);
    EXPECT_EQ(placed_["Neg"], "cpu");
  }
  EXPECT_EQ(abacus_compiled, 0);
}

TEST_F(PlainNodes, ModelRecordsTheirProvider) {
  environment_->catalog().Register(EpPluginQuery, 10);
  const auto recorded = [&](const SessionOptions& options) {
    SessionOptions overwriting = options;
    overwriting.Set("epiphyte.context_overwrite", "1");
    Compile(overwriting);
    return core::ReadPlainProviders(MetadataOf(ParseProtoFile(dir_ / "model_ctx.onnx"))).value();
  };
  EXPECT_THAT(recorded(Compiling()), testing::ElementsAre("cpu"));
  EXPECT_THAT(recorded(Compiling({"recorder_a", "abacus"})), testing::ElementsAre("abacus", "cpu"));
  EXPECT_THAT(recorded(Compiling({"recorder_a", "cpu"})), testing::IsEmpty());
  // This is the record in the form of version 2.
  EXPECT_THAT(core::ReadPlainProviders({{"epiphyte.context.plain", "abacus,cpu"}}).value(),
              testing::ElementsAre("abacus", "cpu"));
}

TEST_F(PlainNodes, MergingKeepsTheirProvider) {
  Compile(Compiling());
  core::MergeOptions merge;
  merge.models = {dir_ / "model_ctx.onnx", dir_ / "model_ctx.onnx"};
  merge.connections = {"A.y=B.x"};
  merge.output = dir_ / "merged.onnx";
  core::MergeContextModels(merge, environment_->catalog());
  EXPECT_THAT(core::ReadPlainProviders(MetadataOf(ParseProtoFile(dir_ / "merged.onnx"))).value(),
              testing::ElementsAre("cpu"));
  // The source model was never in a session, so its nodes have no recorded provider.
  merge.models[1] = dir_ / "model.onnx";
  merge.output = dir_ / "mixed.onnx";
  core::MergeContextModels(merge, environment_->catalog());
  EXPECT_FALSE(MetadataOf(ParseProtoFile(dir_ / "mixed.onnx")).contains("epiphyte.context.plain"));
  Session source(*environment_, dir_ / "model.onnx", OptionsFor({"cpu"}));
  const std::vector<float> twice = RunOn(source, {3}, expected_);
  for (const char* name : {"merged.onnx", "mixed.onnx"}) EXPECT_EQ(Run(name, Loading()), twice) << name;
  EXPECT_EQ(ledger_.Count("compile"), 0u);
}

// With an empty provider list, only the fallback writes contexts. A provider without contexts keeps its own nodes.
TEST_F(PlainNodes, TheFallbacksContextsHoldNoNodesOfOthers) {
  environment_ = BuildTreeEnvironment();
  environment_->catalog().Register(EpPluginQuery, 10);
  SessionOptions options = OptionsFor({});
  options.Set("ep.context_enable", "1");
  Compile(options);
  onnx::ModelProto written = ParseProtoFile(dir_ / "model_ctx.onnx");
  EXPECT_EQ(ContextNodesOf(written, "EpiphyteCPU").size(), 2u);
  EXPECT_EQ(written.graph().node_size(), 3);
  EXPECT_EQ(Run("model_ctx.onnx", OptionsFor({})), expected_);
  EXPECT_EQ(placed_["Neg"], "abacus");
}

// The result is a constant that is known at compile time, so no provider gets a node.
constexpr std::string_view kFolded = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) { c = Constant <value = float[2] {2, -3}> () y = Neg(c) })";

TEST_F(PlainNodes, NothingToCompileIsAnErrorOrAPlainModelOnRequest) {
  const auto model = dir_.Write("folded.onnx", OnnxFromText(kFolded));
  SessionOptions options = Compiling();
  {
    Session session(*environment_, model, options);
    EXPECT_EQ(session.context_output(), nullptr);
  }
  options.Set("epiphyte.context_if_empty", "error");
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, model, options); }),
              testing::AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr("folded.onnx"),
                             HasSubstr("'recorder_a' got no node"), HasSubstr("epiphyte.context_if_empty")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "folded_ctx.onnx"));
  options.Set("epiphyte.context_if_empty", "plain");
  {
    Session session(*environment_, model, options);
    ASSERT_NE(session.context_output(), nullptr);
    EXPECT_EQ(session.context_output()->context_nodes, 0u);
  }
  Session session(*environment_, dir_ / "folded_ctx.onnx", Loading());
  EXPECT_EQ(RunOn(session, {2}, {1, 1}), (std::vector<float>{-2, 3}));
}

TEST_F(PlainNodes, WithoutACompilingProviderTheErrorNamesTheProviders) {
  SessionOptions options = Compiling();
  options.provider_options["recorder_a"]["claim"] = "";
  options.Set("epiphyte.context_if_empty", "error");
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, dir_ / "model.onnx", options); }),
              testing::AllOf(HasSubstr("'recorder_a' got no node"),
                             HasSubstr("'cpu' is only the fallback and doesn't compile the ")));
  options.Set("epiphyte.context_if_empty", "plain");
  Session compiled(*environment_, dir_ / "model.onnx", options);
  EXPECT_EQ(Run("model_ctx.onnx", Loading()), expected_);
}

}  // namespace
}  // namespace epiphyte::test
