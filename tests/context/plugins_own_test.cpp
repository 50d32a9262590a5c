// Parts of a context that belong to the plugin: additional attributes of its nodes, and its verdict for a session's
// options and devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/context/context_model.h"
#include "core/onnx/model_reader.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class PluginsOwn : public testing::Test {
 protected:
  SessionOptions Options(const std::map<std::string, std::string>& more = {}) const {
    SessionOptions options = OptionsFor({"recorder_a"});
    options.provider_options["recorder_a"] = more;
    options.provider_options["recorder_a"]["ledger"] = ledger_.path();
    return options;
  }
  std::string Compile(const std::map<std::string, std::string>& more) {
    SessionOptions options = Options(more);
    options.Set("ep.context_enable", "1");
    return FailureOf([&] { Session session(*environment_, model_, options); });
  }
  std::string Load(const std::map<std::string, std::string>& more = {}) {
    return FailureOf([&] { Session session(*environment_, dir_ / "model_ctx.onnx", Options(more)); });
  }

  TempDir dir_;
  Ledger ledger_{dir_ / "ledger"};
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
  std::filesystem::path model_ = dir_.Write(
      "model.onnx",
      OnnxFromText(
          "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { a = Neg(x) y = Abs(a) }"));
};

TEST_F(PluginsOwn, FurtherAttributesAreInTheNodeAndComeBack) {
  ASSERT_EQ(Compile({{"attribute", "tile.shape=16x16"}}), "OK");
  core::Model model = core::ReadModelFile(dir_ / "model_ctx.onnx", {});
  const std::vector<core::Node*> nodes = core::FindContextNodes(*model.graph);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0]->StringAttribute("tile.shape"), "16x16");
  EXPECT_THAT(core::ReadContextAttributes(*nodes[0]).extras, ElementsAre(Pair("tile.shape", "16x16")));
  ASSERT_EQ(Load(), "OK");
  EXPECT_EQ(ledger_.Count("attribute tile.shape=16x16"), 1u);
}

TEST_F(PluginsOwn, WithoutThemThereAreNone) {
  ASSERT_EQ(Compile({}), "OK");
  core::Model model = core::ReadModelFile(dir_ / "model_ctx.onnx", {});
  EXPECT_THAT(core::ReadContextAttributes(*core::FindContextNodes(*model.graph).at(0)).extras, IsEmpty());
  ASSERT_EQ(Load(), "OK");
  EXPECT_EQ(ledger_.Count("attribute"), 0u);
}

TEST_F(PluginsOwn, NamesThatTheOperatorHasOrThatAreReservedAreRefused) {
  for (const char* attribute : {"notes=x", "main_context=1", "ep_cache_context=../x", "ep_mine=x", "a b=x", "=x"}) {
    EXPECT_THAT(Compile({{"attribute", attribute}}),
                AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("further attribute '")))
        << attribute;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "model_ctx.onnx"));
  }
}

TEST_F(PluginsOwn, TheSessionsOptionsAndDevicesAreJudgedWith) {
  ASSERT_EQ(Compile({}), "OK");
  EXPECT_EQ(Load(), "OK");
  EXPECT_THAT(Load({{"judge", "unsupported"}}),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("the session's option says so, on 1 device")));
}

}  // namespace
}  // namespace epiphyte::test
