// Contexts in nested graphs: the bodies of If and Loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/context/context_proto.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using core::Session;
using core::SessionOptions;
using core::ValuePtr;

constexpr std::string_view kNested = R"(<ir_version: 8, opset_import: ["" : 17]>
  nest (bool flag, float[2] x) => (float[2] y, float[2] z) {
    w = Constant <value = float[2] {2, -3}> ()
    a = Mul(x, w)
    y = If (flag) <
      then_branch = yes () => (float[2] ty) {
        tw = Constant <value = float[2] {10, 20}> () tu = Neg(a) ty = Add(tu, tw) },
      else_branch = no () => (float[2] ey) { ev = Tanh(a) ey = Abs(ev) }>
    n = Constant <value = int64 {3}> ()
    go = Constant <value = bool {1}> ()
    z = Loop (n, go, x) <
      body = again (int64 i, bool cond, float[2] s) => (bool more, float[2] t) {
        one = Constant <value = float[2] {1, 0.5}> () more = Identity(cond) t = Add(s, one) }>
  })";

class NestedContexts : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Embed, NestedContexts, testing::Bool(),
                         [](const auto& info) { return info.param ? "Embedded" : "External"; });

TEST_P(NestedContexts, BodiesOfControlFlowHoldContextNodes) {
  TempDir dir;
  auto environment = RecordingEnvironment();
  auto run = [&](const fs::path& path, bool flag) {
    Session session(*environment, path, OptionsFor({"recorder_a"}));
    std::vector<std::vector<float>> results;
    for (const ValuePtr& value : session.Run(std::vector<ValuePtr>{Bools({}, {flag}), Floats({2}, {0.5, -1})})) {
      results.push_back(FloatsOf(*value));
    }
    return results;
  };
  auto model = dir.Write("nest.onnx", OnnxFromText(kNested));
  auto yes = run(model, true);
  auto no = run(model, false);
  EXPECT_EQ(yes, (std::vector<std::vector<float>>{{9, 17}, {3.5, 0.5}}));

  SessionOptions options = OptionsFor({"recorder_a"});
  options.Set("ep.context_enable", "1");
  options.Set("ep.context_embed_mode", GetParam() ? "1" : "0");
  options.Set("ep.context_node_name_prefix", "p_");
  { Session session(*environment, model, options); }
  EXPECT_EQ(FilesIn(dir.path()).size(), GetParam() ? 2u : 3u);

  onnx::ModelProto written = ParseProtoFile(dir / "nest_ctx.onnx");
  std::set<std::string> names;
  size_t primaries = 0;
  for (const onnx::NodeProto& node : ContextNodesOf(written)) {
    EXPECT_TRUE(node.name().starts_with("p_")) << node.name();
    EXPECT_EQ(TextOf(node, "partition_name"), node.name());
    primaries += IntOf(node, "main_context") == 1;
    names.insert(node.name());
  }
  EXPECT_EQ(names.size(), 4u) << "Mul, Neg with Add, Abs, and Add in the loop";
  EXPECT_EQ(primaries, 1u);
  std::string path = (dir / "nest_ctx.onnx").string();
  EXPECT_NO_THROW(onnx::checker::check_model(path));

  fs::remove(model);
  EXPECT_EQ(run(dir / "nest_ctx.onnx", true), yes);
  EXPECT_EQ(run(dir / "nest_ctx.onnx", false), no);
}

}  // namespace
}  // namespace epiphyte::test
