// Claims of providers through the ABI: groups of several nodes, and operators of the plugin's own domain. Also sessions
// that name no provider. The providers are the recording plugins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::NodePlacement;
using core::Session;
using core::SessionOptions;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ClaimsTest : public testing::Test {
 protected:
  std::unique_ptr<Session> Make(std::string_view text, const SessionOptions& options) {
    const std::string bytes = OnnxFromText(text);
    return std::make_unique<Session>(*environment_, bytes.data(), bytes.size(), options);
  }
  static SessionOptions RecorderA(std::map<std::string, std::string> provider_options) {
    SessionOptions options = OptionsFor({"recorder_a"});
    options.provider_options["recorder_a"] = std::move(provider_options);
    return options;
  }
  // Returns the operators in order with their providers, such as "Mul recorder_a", "Sigmoid cpu".
  static std::vector<std::string> Places(const Session& session) {
    std::vector<std::string> places;
    for (const NodePlacement& node : session.placement().nodes) places.push_back(node.op_type + " " + node.provider);
    return places;
  }
  static std::vector<std::string> PartitionsOf(const Session& session, std::string_view provider) {
    std::vector<std::string> partitions;
    for (const NodePlacement& node : session.placement().nodes)
      if (node.provider == provider) partitions.push_back(node.partition);
    return partitions;
  }

  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
};

// The model has two groups; the last Mul belongs to neither.
constexpr std::string_view kTwoGroups = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) {
    c = Constant <value = float[2] {2, 3}> ()
    a = Mul(x, c)
    b = Add(a, c)
    s = Sigmoid(b)
    d = Mul(s, c)
    e = Add(d, x)
    t = Sigmoid(e)
    y = Mul(t, c)
  })";

TEST_F(ClaimsTest, NodesOfAGroupShareAPartitionAndOthersAreLeft) {
  const auto session = Make(kTwoGroups, RecorderA({{"claim", ""}, {"together", "Mul,Add"}}));
  EXPECT_THAT(Places(*session), ElementsAre("Mul recorder_a", "Add recorder_a", "Sigmoid cpu", "Mul recorder_a",
                                            "Add recorder_a", "Sigmoid cpu", "Mul cpu"));
  const std::vector<std::string> partitions = PartitionsOf(*session, "recorder_a");
  ASSERT_EQ(partitions.size(), 4u);
  EXPECT_EQ(partitions[0], partitions[1]);
  EXPECT_EQ(partitions[2], partitions[3]);
  EXPECT_NE(partitions[0], partitions[2]);
  EXPECT_THAT(session->placement().warnings, IsEmpty());
  const auto alone = Make(kTwoGroups, OptionsFor({"cpu"}));
  EXPECT_THAT(RunOn(*session, {2}, {-1, 2}),
              testing::Pointwise(testing::FloatNear(1e-6f), RunOn(*alone, {2}, {-1, 2})));
}

// If the core fused MatMul and Add into a Gemm, a plugin that has Add but no Gemm would lose both nodes.
TEST_F(ClaimsTest, NodesThatAnotherProviderFusesAreOfferedAsTheModelHasThem) {
  constexpr std::string_view kSum = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) {
      w = Constant <value = float[2,2] {1, 2, 3, 4}> ()
      b = Constant <value = float[2,2] {5, 6, 7, 8}> ()
      m = MatMul(x, w)
      y = Add(m, b)
    })";
  const auto session = Make(kSum, RecorderA({{"claim", "Add"}}));
  EXPECT_THAT(Places(*session), ElementsAre("MatMul cpu", "Add recorder_a"));
  std::vector<std::string> removed;
  for (const core::RemovedNode& node : session->placement().removed)
    removed.push_back(node.op_type + " " + node.Describe());
  EXPECT_THAT(removed, ElementsAre("Constant folded into constant 'w'", "Constant folded into constant 'b'"));
  const auto alone = Make(kSum, OptionsFor({"cpu"}));
  EXPECT_THAT(Places(*alone), ElementsAre("MatMul cpu", "Add cpu")) << "fused inside their partition";
  EXPECT_THAT(RunOn(*session, {2, 2}, {-1, 2, 3, 4}), testing::ElementsAreArray(RunOn(*alone, {2, 2}, {-1, 2, 3, 4})));
}

TEST_F(ClaimsTest, AGroupThatAPathLeavesAndComesBackToIsDroppedWhole) {
  const auto session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { m = Mul(x, x) s = Softsign(m) y = Add(m, s) })",
                            RecorderA({{"claim", ""}, {"together", "Mul,Add"}}));
  EXPECT_THAT(Places(*session), ElementsAre("Mul cpu", "Softsign cpu", "Add cpu"));
  EXPECT_THAT(session->placement().warnings, Contains(HasSubstr("not convex")));
  EXPECT_THAT(RunOn(*session, {2}, {1, 2}), testing::Pointwise(testing::FloatNear(1e-6f), {1.5f, 4.8f}));
}

TEST_F(ClaimsTest, GroupsComeBackFromTheirContext) {
  const TempDir dir;
  const auto model = dir.Write("m.onnx", OnnxFromText(kTwoGroups));
  SessionOptions options = RecorderA({{"claim", ""}, {"together", "Mul,Add"}});
  options.Set("ep.context_enable", "1");
  Session compiled(*environment_, model, options);
  ASSERT_NE(compiled.context_output(), nullptr);
  EXPECT_EQ(compiled.context_output()->context_nodes, 2u);
  Session loaded(*environment_, compiled.context_output()->model, RecorderA({}));
  EXPECT_EQ(RunOn(loaded, {2}, {-1, 2}), RunOn(compiled, {2}, {-1, 2}));
}

constexpr std::string_view kOfTwoDomains = R"(<ir_version: 8, opset_import: ["" : 17, "offices" : 1]>
  g (float[2] x) => (float[2] y) {
    a = offices.Neg(x)
    b = Sigmoid(a)
    c = offices.Add(b, x)
    y = offices.Relu(c)
  })";

TEST_F(ClaimsTest, OperatorsOfADomainThatOnlyThePluginKnowsRunOnIt) {
  const auto session = Make(kOfTwoDomains, RecorderA({{"domain", "offices"}}));
  EXPECT_THAT(Places(*session), ElementsAre("Neg recorder_a", "Sigmoid cpu", "Add recorder_a", "Relu recorder_a"));
  EXPECT_THAT(RunOn(*session, {2}, {0, -2}), testing::Pointwise(testing::FloatNear(1e-6f), {0.5f, 0.0f}));
}

TEST_F(ClaimsTest, OperatorsOfADomainComeBackFromTheirContext) {
  const TempDir dir;
  const auto model = dir.Write("m.onnx", OnnxFromText(kOfTwoDomains));
  SessionOptions options = RecorderA({{"domain", "offices"}});
  options.Set("ep.context_enable", "1");
  Session compiled(*environment_, model, options);
  ASSERT_NE(compiled.context_output(), nullptr);
  EXPECT_EQ(compiled.context_output()->context_nodes, 2u);
  // The compiled model loads without any schema of the plugin's domain.
  Session loaded(*environment_, compiled.context_output()->model, RecorderA({}));
  EXPECT_EQ(RunOn(loaded, {2}, {0, -2}), RunOn(compiled, {2}, {0, -2}));
}

TEST_F(ClaimsTest, OperatorOfAnUnknownDomainIsNamed) {
  for (const SessionOptions& options : {RecorderA({}), RecorderA({{"domain", "elsewhere"}}), OptionsFor({"cpu"})}) {
    const std::string failure = FailureOf([&] { Make(kOfTwoDomains, options); });
    EXPECT_THAT(failure, HasSubstr("offices"));
    EXPECT_THAT(failure, HasSubstr("Neg"));
  }
}

constexpr std::string_view kForEverybody = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) { a = Add(x, x) b = Sigmoid(a) y = Neg(b) })";

TEST_F(ClaimsTest, WithoutAListInstalledPluginsAreAskedInTheirOrder) {
  SessionOptions none;
  none.thread_count = 1;
  const auto session = Make(kForEverybody, none);
  // recorder_a comes before recorder_b by its manifest's priority, and both before the fallback.
  EXPECT_THAT(session->placement().providers, ElementsAre("recorder_a", "recorder_b", "cpu"));
  EXPECT_THAT(Places(*session), ElementsAre("Add recorder_a", "Sigmoid cpu", "Neg recorder_a"));
  EXPECT_THAT(RunOn(*session, {2}, {0, 0}), ElementsAre(-0.5f, -0.5f));
}

TEST_F(ClaimsTest, WithoutAListOptionsOfAPluginReachIt) {
  SessionOptions options;
  options.thread_count = 1;
  options.provider_options["recorder_a"] = {{"claim", "Neg"}};
  options.provider_options["recorder_b"] = {{"claim", "Add"}};
  const auto session = Make(kForEverybody, options);
  EXPECT_THAT(Places(*session), ElementsAre("Add recorder_b", "Sigmoid cpu", "Neg recorder_a"));
  EXPECT_THAT(RunOn(*session, {2}, {0, 0}), ElementsAre(-0.5f, -0.5f));
}

TEST_F(ClaimsTest, WithAListOthersAreNotAsked) {
  const auto session = Make(kForEverybody, OptionsFor({"recorder_b"}));
  EXPECT_THAT(session->placement().providers, ElementsAre("recorder_b", "cpu"));
  EXPECT_THAT(Places(*session), ElementsAre("Add recorder_b", "Sigmoid cpu", "Neg recorder_b"));
}

TEST_F(ClaimsTest, WithoutAListContextsAreCompiledAndLoadedByThePluginsThatAreThere) {
  const TempDir dir;
  const auto model = dir.Write("m.onnx", OnnxFromText(kForEverybody));
  SessionOptions options;
  options.thread_count = 1;
  SessionOptions compile = options;
  compile.Set("ep.context_enable", "1");
  Session compiled(*environment_, model, compile);
  ASSERT_NE(compiled.context_output(), nullptr);
  EXPECT_EQ(compiled.context_output()->context_nodes, 2u);
  Session loaded(*environment_, compiled.context_output()->model, options);
  EXPECT_TRUE(loaded.has_context());
  EXPECT_THAT(RunOn(loaded, {2}, {0, 0}), ElementsAre(-0.5f, -0.5f));
}

}  // namespace
}  // namespace epiphyte::test
