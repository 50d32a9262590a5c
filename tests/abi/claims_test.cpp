// Claims beyond "I can run this node": groups that must stay intact, nodes that are merged only if they are connected,
// and partitions that the provider declines in Compile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/session.h"
#include "tests/abi/installed_plugin.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Environment;
using core::NodePlacement;
using core::Session;
using core::SessionOptions;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ClaimTest : public testing::Test {
 protected:
  void Use(const char* file) {
    environment_.reset();
    installed_.emplace(PluginFile(file));
    environment_.emplace(installed_->Options());
  }
  static SessionOptions Listed() {
    SessionOptions options;
    options.providers = {{"misbehaving", {}}};
    return options;
  }
  Session Make(const std::string& model, const SessionOptions& options = Listed()) {
    return Session(*environment_, model.data(), model.size(), options);
  }
  // Number of the plugin's partitions.
  static size_t Partitions(const Session& session) {
    std::set<std::string> names;
    for (const NodePlacement& node : session.placement().nodes) {
      if (node.provider == "misbehaving") names.insert(node.partition);
    }
    return names.size();
  }

  std::optional<Installed> installed_;
  std::optional<Environment> environment_;
};

const std::string& ThreeRelus() {
  static const std::string model = ChainModel({"Relu", "Relu", "Relu"});
  return model;
}

std::string TwoBranches() {
  return OnnxFromText(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] a, float[2] b) => (float[2] y, float[2] z) "
      "{ t = Relu(a) y = Relu(t) z = Relu(b) }");
}

TEST_F(ClaimTest, ClaimsWithoutGroupsBecomeOnePartition) {
  Use("kWellBehaved");
  EXPECT_EQ(Partitions(Make(ThreeRelus(),
                            [] {
                              SessionOptions options = Listed();
                              options.Set("epiphyte.graph_optimization_level", "0");
                              return options;
                            }())),
            1u);
}

TEST_F(ClaimTest, AnExactUnitIsAPartitionOfItsOwnAndRuns) {
  Use("kClaimsExactly");
  SessionOptions options = Listed();
  options.Set("epiphyte.graph_optimization_level", "0");
  const Session session = Make(ThreeRelus(), options);
  EXPECT_EQ(Partitions(session), 3u);
  EXPECT_THAT(session.placement().warnings, IsEmpty());
  EXPECT_THAT(RunModel(*environment_, ThreeRelus(), {"misbehaving"}, {-1, 2}), ElementsAre(0, 2));
}

TEST_F(ClaimTest, TheReportHasTheNamesAndTheMemoryOfClaims) {
  Use("kClaimsExactly");
  const std::string report = Make(ChainModel({"Relu"})).placement().ToJson();
  EXPECT_THAT(report, HasSubstr("exactly one"));
  EXPECT_THAT(report, HasSubstr("\"memory_bytes\": 4096"));
}

TEST_F(ClaimTest, UnconnectedNodesShareAPartitionOnlyOnRequest) {
  SessionOptions options = Listed();
  options.Set("epiphyte.graph_optimization_level", "0");
  Use("kWellBehaved");
  EXPECT_EQ(Partitions(Make(TwoBranches(), options)), 1u);
  Use("kClaimsConnected");
  EXPECT_EQ(Partitions(Make(TwoBranches(), options)), 2u);
}

// --- partitions that Compile declines

std::string ReluSigmoidRelu() { return ChainModel({"Relu", "Sigmoid", "Relu"}); }

TEST_F(ClaimTest, DeclinedNodesGoToTheNextProviderWhichMergesThem) {
  Use("kDeclinesOthers");
  const Session session = Make(ReluSigmoidRelu());
  const std::vector<NodePlacement>& nodes = session.placement().nodes;
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].provider, "misbehaving");
  EXPECT_EQ(nodes[1].provider, "cpu");
  EXPECT_EQ(nodes[2].provider, "cpu");
  EXPECT_EQ(nodes[1].partition, nodes[2].partition) << "two nodes of one provider that follow each other";
  EXPECT_THAT(RunModel(*environment_, ReluSigmoidRelu(), {"misbehaving"}, {-1, 2}),
              RunModel(*environment_, ReluSigmoidRelu(), {"cpu"}, {-1, 2}));
}

TEST_F(ClaimTest, TheReportSaysWhyItWasGivenBackInOneLine) {
  Use("kDeclinesOthers");
  const Session session = Make(ReluSigmoidRelu());
  const std::vector<core::Decline>& declines = session.placement().nodes[2].declines;
  const auto why = std::find_if(declines.begin(), declines.end(),
                                [](const core::Decline& decline) { return decline.provider == "misbehaving"; });
  ASSERT_NE(why, declines.end());
  EXPECT_THAT(why->reason, HasSubstr("needs 9 tiles"));
  EXPECT_THAT(why->reason, testing::Not(HasSubstr("\n")));
}

// Relu is a function in ONNX 1.17, and no provider runs its body either. The reported reason is still the one for Relu.
TEST_F(ClaimTest, WithoutAnotherProviderTheReasonBecomesTheSessionError) {
  Use("kDeclinesAll");
  SessionOptions options = Listed();
  options.Set("session.disable_cpu_ep_fallback", "1");
  EXPECT_THAT(FailureOf([&] { Make(ChainModel({"Relu"}), options); }),
              testing::AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("misbehaving: needs 9 tiles")));
}

TEST_F(ClaimTest, AContextModelHoldsWhatWasCompiledAndTheRestAsItWas) {
  Use("kDeclinesOthers");
  const TempDir folder;
  const auto model = folder.Write("m.onnx", ReluSigmoidRelu());
  SessionOptions options = Listed();
  options.Set("ep.context_enable", "1");
  {
    const Session session(*environment_, model, options);
    ASSERT_NE(session.context_output(), nullptr);
    EXPECT_EQ(session.context_output()->context_nodes, 1u);
    EXPECT_EQ(session.context_output()->plain_nodes, 2u);
  }
  const Session loaded(*environment_, folder / "m_ctx.onnx", Listed());
  EXPECT_TRUE(loaded.has_context());
}

TEST_F(ClaimTest, PartitionsOfNestedGraphsAreGivenBackToo) {
  Use("kDeclinesAll");
  const std::string model = OnnxFromText(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x, bool c) => (float[2] y) "
      "{ a = Relu(x) y = If(c) <then_branch = t () => (float[2] p) { p = Relu(a) }, "
      "else_branch = e () => (float[2] q) { q = Sigmoid(a) }> }");
  const Session session = Make(model);
  for (const NodePlacement& node : session.placement().nodes) {
    EXPECT_EQ(node.provider, node.op_type == "If" ? "" : "cpu") << node.graph << ' ' << node.op_type;
    EXPECT_EQ(node.is_run_by_host, node.op_type == "If");
  }
}

// --- kernels that need exclusive use of the provider

TEST_F(ClaimTest, ExclusiveKernelsOfAProviderExecuteOneAtATime) {
  Use("kExclusiveKernels");
  SessionOptions options = Listed();
  Session session = Make(ChainModel({"Relu"}), options);
  std::vector<std::string> failures(4);
  std::vector<std::thread> threads;
  for (std::string& failure : failures) {
    threads.emplace_back([&] {
      failure = FailureOf([&] {
        for (int i = 0; i < 10; ++i) {
          core::ValuePtr x = core::Value::Tensor(core::DataType::kFloat, std::vector<int64_t>{2});
          std::fill_n(static_cast<float*>(x->mutable_data()), 2, 1.0f);
          session.Run(std::vector<core::ValuePtr>{x});
        }
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(failures, testing::Each("OK"));
}

// --- run information that a kernel gets

TEST_F(ClaimTest, AKernelIsToldTheTagAndTheOptionsOfItsRunAndItsCodeReachesTheApplication) {
  Use("kTellsOfItsRun");
  Session session = Make(ChainModel({"Relu"}));
  const auto run = [&](const core::RunSettings& settings) {
    core::ValuePtr x = core::Value::Tensor(core::DataType::kFloat, std::vector<int64_t>{2});
    std::fill_n(static_cast<float*>(x->mutable_data()), 2, 1.0f);
    return FailureOf([&] { session.Run(std::vector<core::ValuePtr>{x}, settings); });
  };
  EXPECT_THAT(run({}), testing::AllOf(testing::StartsWith("TIMEOUT"), testing::EndsWith("tag ''")));
  core::RunSettings settings;
  settings.tag = "user 7";
  const core::RunSettings::ProviderOptions options = {{"misbehaving", {{"power", "low"}, {"queue", "2"}}},
                                                      {"cpu", {{"power", "high"}}}};
  settings.provider_options = &options;
  EXPECT_THAT(run(settings), testing::EndsWith("tag 'user 7', power is low, queue is 2"));
  const core::RunSettings::ProviderOptions foreign = {{"nobody", {{"power", "low"}}}};
  settings.provider_options = &foreign;
  EXPECT_THAT(run(settings), testing::AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr("'nobody'")));
}

}  // namespace
}  // namespace epiphyte::test
