// A plugin made with the kit, in a session with the CPU plugin: placement, contexts, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/context/context_model.h"
#include "core/context/merge.h"
#include "core/onnx/model_reader.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::ElementsAre;
using testing::HasSubstr;

// A model in which doubler takes the Adds and cpu the rest, in two partitions each.
constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) {
    a = Add(x, x)
    b = Add(a, a)
    c = Neg(b)
    d = Add(c, c)
    y = Relu(d)
  })";

class KitTest : public testing::Test {
 protected:
  KitTest() {
    core::CatalogOptions options;
    options.use_environment = false;
    options.use_user_folder = false;
    options.paths = {EPIPHYTE_KIT_PLUGIN_DIR};
    environment_ = std::make_unique<core::Environment>(std::move(options));
    model_ = dir_.Write("model.onnx", OnnxFromText(kModel));
  }
  std::vector<float> RunOn(Session& session) {
    return FloatsOf(*session.Run(std::vector<ValuePtr>{Floats({2}, {1, -3})})[0]);
  }

  TempDir dir_;
  std::filesystem::path model_;
  std::unique_ptr<core::Environment> environment_;
};

TEST_F(KitTest, SharesAModelWithAnotherPlugin) {
  Session session(*environment_, model_, OptionsFor({"doubler"}));
  EXPECT_THAT(RunOn(session), ElementsAre(0, 24));
  EXPECT_EQ(session.placement().Summary(), "5 nodes: doubler 3 in 2 partitions, cpu 2 in 2 partitions");
}

TEST_F(KitTest, TheFallbackIsLeftOutOnRequest) {
  SessionOptions options = OptionsFor({"doubler"});
  options.Set("session.disable_cpu_ep_fallback", "1");
  std::string failure = FailureOf([&] { Session session(*environment_, model_, options); });
  EXPECT_THAT(failure, AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("doubler: only Add(x, x) of float")));
}

TEST_F(KitTest, SavesItsContextAndLeavesTheFallbacksNodesPlain) {
  SessionOptions options = OptionsFor({"doubler"});
  options.Set("ep.context_enable", "1");
  {
    Session session(*environment_, model_, options);
    ASSERT_NE(session.context_output(), nullptr);
    EXPECT_EQ(session.context_output()->context_nodes, 2u);
    EXPECT_EQ(session.context_output()->plain_nodes, 2u);
    EXPECT_THAT(session.context_output()->files, ElementsAre(dir_ / "model_doubler.bin"));
  }
  core::Model context = core::ReadModelFile(dir_ / "model_ctx.onnx", {});
  auto nodes = core::FindContextNodes(*context.graph);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(core::ReadContextAttributes(*nodes[0]).main_context, 1);
  EXPECT_EQ(core::ReadContextAttributes(*nodes[1]).main_context, 0);
  Session reloaded(*environment_, dir_ / "model_ctx.onnx", OptionsFor({"doubler"}));
  EXPECT_THAT(RunOn(reloaded), ElementsAre(0, 24));
}

TEST_F(KitTest, TwoProvidersSaveTheirContextsInOneModel) {
  for (const char* embed : {"0", "1"}) {
    SessionOptions options = OptionsFor({"doubler", "cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", embed);
    options.Set("ep.context_file_path", (dir_ / (std::string("two") + embed + "_ctx.onnx")).string());
    Session session(*environment_, model_, options);
    EXPECT_EQ(session.context_output()->context_nodes, 4u);
    EXPECT_EQ(session.context_output()->plain_nodes, 0u);
    Session reloaded(*environment_, session.context_output()->model, OptionsFor({"doubler", "cpu"}));
    EXPECT_THAT(RunOn(reloaded), ElementsAre(0, 24)) << embed;
  }
}

TEST_F(KitTest, AContextWhoseProviderIsNotListedSaysSo) {
  SessionOptions options = OptionsFor({"doubler"});
  options.Set("ep.context_enable", "1");
  Session session(*environment_, model_, options);
  EXPECT_THAT(FailureOf([&] { Session other(*environment_, dir_ / "model_ctx.onnx", OptionsFor({"cpu"})); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("'doubler'"), HasSubstr("add it")));
}

TEST_F(KitTest, DeclaredOptionsReachItAndOthersAreRefusedByTheHost) {
  SessionOptions options = OptionsFor({});
  options.providers = {{"doubler", {{"declin", "x"}}}};
  EXPECT_EQ(FailureOf([&] { Session session(*environment_, model_, options); }),
            "INVALID_ARGUMENT: provider 'doubler': option 'declin' is unknown; did you mean 'decline'?");
  options.providers = {{"doubler", {{"decline", "a"}}}};
  Session session(*environment_, model_, options);
  EXPECT_EQ(session.placement().Summary(), "5 nodes: doubler 2 in 2 partitions, cpu 3 in 3 partitions");
  EXPECT_THAT(RunOn(session), ElementsAre(0, 24));
}

TEST_F(KitTest, NestedGraphsArePartitionedToo) {
  auto model = dir_.Write("if.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] p) { q = Add(x, x) p = Neg(q) }, else_branch = e () => (float[2] r) { r = Add(x, x) }>
    })"));
  SessionOptions options = OptionsFor({"doubler"});
  options.Set("ep.context_enable", "1");
  auto run = [&](Session& session, bool condition) {
    return FloatsOf(*session.Run(std::vector<ValuePtr>{Bools({}, {condition}), Floats({2}, {1, -3})})[0]);
  };
  Session session(*environment_, model, options);
  EXPECT_THAT(run(session, true), ElementsAre(-2, 6));
  EXPECT_THAT(run(session, false), ElementsAre(2, -6));
  EXPECT_EQ(session.context_output()->context_nodes, 2u);
  Session reloaded(*environment_, dir_ / "if_ctx.onnx", OptionsFor({"doubler"}));
  EXPECT_THAT(run(reloaded, true), ElementsAre(-2, 6));
  EXPECT_THAT(run(reloaded, false), ElementsAre(2, -6));
}

// Two payloads have graphs of the same names, and each model has a secondary. The merged model records which payload
// each node uses.
TEST_F(KitTest, EmbeddedContextsMergedRunAsTheyDidApart) {
  const auto compile = [&](const std::string& name, const std::string& text) {
    SessionOptions options = OptionsFor({"doubler"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", "1");
    Session session(*environment_, dir_.Write(name + ".onnx", OnnxFromText(text)), options);
  };
  std::string other(kModel);  // the second partition multiplies by four times as much
  other.replace(other.find("y = Relu(d)"), 11, "e = Add(d, d) f = Add(e, e) y = Relu(f)");
  compile("one", std::string(kModel));
  compile("two", other);
  core::MergeOptions merge;
  merge.models = {dir_ / "one_ctx.onnx", dir_ / "two_ctx.onnx"};
  merge.output = dir_ / "both.onnx";
  core::MergeContextModels(merge, environment_->catalog());
  Session session(*environment_, dir_ / "both.onnx", OptionsFor({"doubler"}));
  const auto outputs = session.Run(std::vector<ValuePtr>{Floats({2}, {1, -3}), Floats({2}, {1, -3})});
  EXPECT_THAT(FloatsOf(*outputs.at(0)), ElementsAre(0, 24));
  EXPECT_THAT(FloatsOf(*outputs.at(1)), ElementsAre(0, 96));
}

// The node names no file, and two payloads have a graph of its name, so the kit searches both.
TEST_F(KitTest, ASecondaryAmongSeveralPayloadsIsFound) {
  const auto compile = [&](const std::string& prefix) {
    SessionOptions options = OptionsFor({"doubler"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_node_name_prefix", prefix);
    options.Set("ep.context_file_path", (dir_ / (prefix + "_ctx.onnx")).string());
    Session session(*environment_, model_, options);
  };
  compile("p");
  compile("q");
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[2] x) => (float[2] a, float[2] b, float[2] c) {
      a = com.microsoft.EPContext <embed_mode = 0, source = "DoublerSource", ep_sdk_version = "doubler 1.0",
            hardware_architecture = "any", partition_name = "pg_doubler_0", ep_cache_context = "p_doubler.bin"> (x)
      b = com.microsoft.EPContext <embed_mode = 0, source = "DoublerSource", ep_sdk_version = "doubler 1.0",
            hardware_architecture = "any", partition_name = "qg_doubler_0", ep_cache_context = "q_doubler.bin"> (x)
      c = com.microsoft.EPContext <main_context = 0, source = "DoublerSource", ep_sdk_version = "doubler 1.0",
            hardware_architecture = "any", partition_name = "SECONDARY"> (x) })";
  const auto with = [&](const char* name) {
    std::string changed = text;
    changed.replace(changed.find("SECONDARY"), 9, name);
    return dir_.Write("hand.onnx", OnnxFromText(changed));
  };
  for (const char* name : {"pg_doubler_1", "qg_doubler_1"}) {
    Session session(*environment_, with(name), OptionsFor({"doubler"}));
    const auto outputs = session.Run(std::vector<ValuePtr>{Floats({2}, {1, -3})});
    EXPECT_THAT(FloatsOf(*outputs.at(1)), ElementsAre(4, -12));
    EXPECT_THAT(FloatsOf(*outputs.at(2)), ElementsAre(2, -6)) << name;
  }
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, with("rg_doubler_1"), OptionsFor({"doubler"})); }),
              AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr("rg_doubler_1")));
}

}  // namespace
}  // namespace epiphyte::test
