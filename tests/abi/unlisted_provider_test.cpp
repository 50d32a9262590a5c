// Failures of providers that the session does not list are reported, and their nodes go to the next provider. Also
// functions that a provider claims as a whole but does not get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/runtime/session.h"
#include "tests/abi/installed_plugin.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Environment;
using core::Session;
using core::SessionOptions;
using testing::HasSubstr;

class UnlistedPlugin : public testing::TestWithParam<const char*> {};

constexpr std::string_view kFunctionModel = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
  g (float[2] x) => (float[2] y) { a = local.Twice(x) b = Neg(a) y = Relu(b) }
  <domain: "local", opset_import: ["" : 17]> Twice (v) => (w) { w = Add(v, v) })";

TEST_P(UnlistedPlugin, DoesNotStopASession) {
  Installed installed(PluginFile(GetParam()));
  Environment environment(installed.Options());
  EXPECT_THAT(RunModel(environment, ChainModel({"Relu", "Neg", "Relu"}), {}, {-1, 2}), testing::ElementsAre(0, 0));
  const std::string model = OnnxFromText(kFunctionModel);
  EXPECT_THAT(RunModel(environment, model, {}, {-1, 2}), testing::ElementsAre(2, 0));
}

TEST_P(UnlistedPlugin, IsReported) {
  Installed installed(PluginFile(GetParam()));
  Environment environment(installed.Options());
  const std::string model = OnnxFromText(kFunctionModel);
  Session session(environment, model.data(), model.size(), SessionOptions());
  EXPECT_THAT(session.placement().warnings, testing::Contains(HasSubstr("provider 'misbehaving': ")));
}

INSTANTIATE_TEST_SUITE_P(Abi, UnlistedPlugin,
                         testing::Values("kFailsInGetCapability", "kThrowsInGetCapability", "kFailsOnFunctions",
                                         "kFailsInCompile", "kThrowsInCompile", "kTooFewKernels"),
                         [](const auto& info) { return std::string(info.param); });

TEST(UnlistedPlugin, ThatFailsToGiveContextNodesLeavesTheContextToTheNext) {
  Installed installed(PluginFile("kThrowsInGetEpContextNodes"));
  Environment environment(installed.Options());
  TempDir dir;
  SessionOptions options;
  options.Set("ep.context_enable", "1");
  Session session(environment, dir.Write("m.onnx", ChainModel({"Relu", "Sigmoid", "Relu"})), options);
  ASSERT_NE(session.context_output(), nullptr);
  EXPECT_EQ(session.context_output()->context_nodes, 1u);
  EXPECT_EQ(session.placement().Summary().find("misbehaving 2"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir / "m_misbehaving.bin"));
}

TEST(UnlistedPlugin, ThatFailsToGiveContextNodesLeavesAShareGroupToTheNext) {
  Installed installed(PluginFile("kThrowsInGetEpContextNodes"));
  Environment environment(installed.Options());
  TempDir dir;
  const auto compile = [&](const char* name, bool last) {
    SessionOptions options;
    options.Set("ep.context_enable", "1");
    options.Set("ep.share_ep_contexts", "1");
    if (last) options.Set("ep.stop_share_ep_contexts", "1");
    Session session(environment, dir.Write(std::string(name) + ".onnx", ChainModel({"Relu", "Sigmoid", "Relu"})),
                    options);
  };
  compile("first", false);
  compile("second", false);
  compile("last", true);
  SessionOptions loading;
  loading.Set("ep.share_ep_contexts", "1");
  for (const char* name : {"first", "second", "last"}) {
    Session session(environment, dir / (std::string(name) + "_ctx.onnx"), loading);
    EXPECT_TRUE(session.has_context()) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(dir / "first_cpu.bin"));
  EXPECT_FALSE(std::filesystem::exists(dir / "first_cpu_1.bin"));
  EXPECT_FALSE(std::filesystem::exists(dir / "first_misbehaving.bin"));
}

TEST(UnlistedPlugin, ThatIsListedEndsTheSessionAlsoOnAModelWithFunctions) {
  Installed installed(PluginFile("kFailsOnFunctions"));
  Environment environment(installed.Options());
  const std::string model = OnnxFromText(kFunctionModel);
  EXPECT_THAT(FailureOf([&] {
                RunModel(environment, model, {"misbehaving"}, {-1, 2});
              }),
              testing::AllOf(HasSubstr("provider 'misbehaving': GetCapability"), HasSubstr("functions confuse it")));
}

// The plugin claims the call together with the Neg behind it; cpu, which comes first, takes that Neg.
TEST(FunctionWhoseClaimIsLost, IsInlined) {
  Installed installed(PluginFile("kClaimsFunctionInALostGroup"));
  Environment environment(installed.Options());
  const std::string model = OnnxFromText(kFunctionModel);
  EXPECT_THAT(RunModel(environment, model, {"cpu"}, {-1, 2}), testing::ElementsAre(2, 0));
  EXPECT_THAT(RunModel(environment, model, {"cpu", "misbehaving"}, {-1, 2}), testing::ElementsAre(2, 0));
  TempDir dir;
  const std::filesystem::path file = dir.Write("m.onnx", model);
  SessionOptions options;
  options.providers = {{"cpu", {}}, {"misbehaving", {}}};
  const core::Placement placement = core::PlaceModel(environment, file, options);
  EXPECT_THAT(placement.Summary(), HasSubstr("cpu 3"));
  ASSERT_EQ(placement.removed.size(), 1u) << "told once, though the session was begun twice";
  EXPECT_EQ(placement.removed[0].op_type, "Twice");
  EXPECT_EQ(placement.removed[0].reason, core::RemovalReason::kInlined);
}

}  // namespace
}  // namespace epiphyte::test
