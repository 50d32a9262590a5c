// Initializers that are also inputs of the model. From IR version 4 on, a run may override them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/runtime/session.h"
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

using Named = std::vector<std::pair<std::string, ValuePtr>>;

class Overridable : public testing::Test {
 protected:
  Session Make(std::string_view text, const SessionOptions& options = OptionsFor({"cpu"})) {
    const std::string bytes = OnnxFromText(text);
    return Session(*environment_, bytes.data(), bytes.size(), options);
  }
  static ValuePtr RunNamed(Session& session, const Named& inputs) { return session.Run(inputs, {})[0]; }

  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

// @model 14a
constexpr std::string_view kScale = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x, float[2] w = {3.0, 4.0}, float[2] b) => (float[2] y) { m = Mul(x, w) y = Add(m, b) })";

TEST_F(Overridable, ARunGivesItOrNot) {
  Session session = Make(kScale);
  ASSERT_EQ(session.inputs().size(), 2u);
  EXPECT_EQ(session.inputs()[1].name, "b");
  ASSERT_EQ(session.overridable_initializers().size(), 1u);
  EXPECT_EQ(session.overridable_initializers()[0].name, "w");
  EXPECT_EQ(session.overridable_initializers()[0].type->ToString(), "tensor(float)[2]");
  const ValuePtr x = Floats({2}, {1, 2}), b = Floats({2}, {10, 20});
  EXPECT_THAT(FloatsOf(*session.Run(std::vector<ValuePtr>{x, b})[0]), ElementsAre(13, 28));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"b", b}})), ElementsAre(13, 28));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"b", b}, {"w", Floats({2}, {5, 5})}})), ElementsAre(15, 30));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"b", b}})), ElementsAre(13, 28)) << "the next run has its own";
  EXPECT_THAT(FailureOf([&] {
                RunNamed(session, {{"x", x}, {"b", b}, {"w", Floats({3}, {1, 2, 3})}});
              }),
              HasSubstr("input 'w' has shape [3], the model expects tensor(float)[2]"));
  EXPECT_THAT(FailureOf([&] { session.Run(std::vector<ValuePtr>{x}); }),
              HasSubstr("1 inputs were given, the model has 2"));
}

TEST_F(Overridable, TheApplicationMakesThemConstants) {
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("session.constant_initializers", "1");
  Session session = Make(kScale, options);
  EXPECT_TRUE(session.overridable_initializers().empty());
  const ValuePtr x = Floats({2}, {1, 2}), b = Floats({2}, {10, 20});
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"b", b}})), ElementsAre(13, 28));
  EXPECT_THAT(FailureOf([&] {
                RunNamed(session, {{"x", x}, {"b", b}, {"w", Floats({2}, {5, 5})}});
              }),
              HasSubstr("the model has no input 'w'"));
}

TEST_F(Overridable, BeforeIrVersion4EveryInitializerIsAConstant) {
  Session session = Make(R"(<ir_version: 3, opset_import: ["" : 7]>
    g (float[2] x, float[2] w = {3.0, 4.0}) => (float[2] y) { y = Mul(x, w) })");
  EXPECT_EQ(session.inputs().size(), 1u);
  EXPECT_TRUE(session.overridable_initializers().empty());
  EXPECT_THAT(FloatsOf(*session.Run(std::vector<ValuePtr>{Floats({2}, {1, 2})})[0]), ElementsAre(3, 8));
}

TEST_F(Overridable, NothingIsFoldedOrInferredFromIts) {
  // @model 14b
  Session session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[6] x, int64[2] shape = {2, 3}) => (float[N, M] y) <float two = {2.0}>
    { one = Cast <to = 1> (shape) s = ReduceSum <keepdims = 0> (one) r = Reshape(x, shape) y = Mul(r, s) })");
  const ValuePtr x = Floats({6}, {1, 2, 3, 4, 5, 6});
  const ValuePtr usual = RunNamed(session, {{"x", x}});
  EXPECT_THAT(usual->dims(), ElementsAre(2, 3));
  EXPECT_THAT(FloatsOf(*usual), ElementsAre(5, 10, 15, 20, 25, 30));
  const ValuePtr other = RunNamed(session, {{"x", x}, {"shape", Int64s({2}, {6, 1})}});
  EXPECT_THAT(other->dims(), ElementsAre(6, 1));
  EXPECT_THAT(FloatsOf(*other), ElementsAre(7, 14, 21, 28, 35, 42));
}

TEST_F(Overridable, WeightsOfAConvolutionAndAProduct) {
  // @model 14c
  Session session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 1, 2, 2] x, float[1, 1, 1, 1] w = {2.0}, float[4, 2] p = {1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0})
      => (float[1, 2] y)
    { c = Conv(x, w) r = Relu(c) f = Flatten(r) y = MatMul(f, p) })");
  const ValuePtr x = Floats({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}})), ElementsAre(8, 12));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"w", Floats({1, 1, 1, 1}, {10})}})), ElementsAre(40, 60));
  const ValuePtr p = Floats({4, 2}, {1, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"p", p}, {"x", x}})), ElementsAre(2, 2));
}

TEST_F(Overridable, ABranchReadsItFromOutside) {
  // @model 14d
  Session session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1] x, bool c = {1}, float[1] w = {3.0}) => (float[1] y)
    { y = If (c) <then_branch = t () => (float[1] p) { p = Mul(x, w) },
                  else_branch = e () => (float[1] q) { q = Add(x, w) }> })");
  const ValuePtr x = Floats({1}, {2});
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}})), ElementsAre(6));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"c", Bools({}, {false})}})), ElementsAre(5));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"w", Floats({1}, {7})}})), ElementsAre(14));
}

TEST_F(Overridable, ABoundOfASliceMayBeAnother) {
  // @model 14e
  Session session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x, int64[1] end = {2}) => (float[N] y) <int64[1] start = {0}> { s = Slice(x, start, end) y = Neg(s) })");
  const ValuePtr x = Floats({4}, {1, 2, 3, 4});
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}})), ElementsAre(-1, -2));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"end", Int64s({1}, {3})}})), ElementsAre(-1, -2, -3));
}

TEST_F(Overridable, ItStaysSoInAContextModel) {
  TempDir dir;
  const std::filesystem::path model = dir.Write("scale.onnx", OnnxFromText(kScale));
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("ep.context_enable", "1");
  options.Set("ep.context_file_path", (dir.path() / "ctx.onnx").string());
  {
    Session compiling(*environment_, model, options);
    EXPECT_EQ(compiling.overridable_initializers().size(), 1u);
  }
  Session session(*environment_, dir.path() / "ctx.onnx", OptionsFor({"cpu"}));
  EXPECT_TRUE(session.has_context());
  ASSERT_EQ(session.overridable_initializers().size(), 1u);
  const ValuePtr x = Floats({2}, {1, 2}), b = Floats({2}, {10, 20});
  EXPECT_THAT(FloatsOf(*session.Run(std::vector<ValuePtr>{x, b})[0]), ElementsAre(13, 28));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", x}, {"b", b}, {"w", Floats({2}, {5, 5})}})), ElementsAre(15, 30));
}

TEST_F(Overridable, AnOutputThatIsOneIsWhatTheRunGave) {
  Session session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1] x, float[1] w = {3.0}) => (float[1] w, float[1] y) { y = Mul(x, w) })");
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", Floats({1}, {2})}})), ElementsAre(3));
  EXPECT_THAT(FloatsOf(*RunNamed(session, {{"x", Floats({1}, {2})}, {"w", Floats({1}, {9})}})), ElementsAre(9));
}

TEST_F(Overridable, TheLogSaysWhatItCosts) {
  testing::internal::CaptureStderr();
  Make(kScale);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("1 initializers are inputs of the model, too ('w'), so that a run may give them"));
}

}  // namespace
}  // namespace epiphyte::test
