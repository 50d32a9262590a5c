// Models as other tools write them, with wrong declarations, omissions, or operators of another opset. The expected
// numbers are those of ONNX Runtime 1.30 if it runs the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/runtime/session.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

auto Near(std::vector<float> values) { return testing::Pointwise(testing::FloatNear(1e-5f), values); }

class ModelsOfOthers : public testing::Test {
 protected:
  Session Make(std::string_view text, const SessionOptions& options = OptionsFor({"cpu"})) {
    const std::string bytes = OnnxFromText(text);
    return Session(*environment_, bytes.data(), bytes.size(), options);
  }
  std::vector<ValuePtr> Run(std::string_view text, std::vector<ValuePtr> inputs) { return Make(text).Run(inputs); }
  // Returns the first output as text, such as "[2,3]: 1 2 3 4 5 6".
  std::string RunOne(std::string_view text, std::vector<ValuePtr> inputs) { return TextOf(*Run(text, inputs)[0]); }

  static std::string TextOf(const core::Value& value) {
    std::string text = fmt::format("[{}]:", fmt::join(value.dims(), ","));
    if (value.type() == core::DataType::kFloat) {
      for (const float number : FloatsOf(value)) text += fmt::format(" {:g}", number);
    } else if (value.type() == core::DataType::kInt64) {
      for (const int64_t number : Int64sOf(value)) text += fmt::format(" {}", number);
    }
    return text;
  }

  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

// --- declared shapes that are wrong

TEST_F(ModelsOfOthers, AWrongRankOfAnInnerValueIsIgnored) {
  // @model 11a
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[N] y) <float[1] m, float[4, 4] n, int64[1] axis = {1}>
    { m = Relu(x) n = ReduceSum <keepdims = 0> (m, axis) y = Neg(n) })";
  EXPECT_EQ(RunOne(kModel, {Floats({2, 3}, {1, -2, 3, 4, 5, -6})}), "[2]: -4 -9");
}

TEST_F(ModelsOfOthers, AWrongShapeOfAnOutputIsIgnored) {
  // @model 11b
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y, float[7] z) { y = Transpose(x) z = Flatten(y) })";
  const auto outputs = Run(kModel, {Floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(TextOf(*outputs[0]), "[3,2]: 1 4 2 5 3 6");
  EXPECT_EQ(TextOf(*outputs[1]), "[3,2]: 1 4 2 5 3 6");
}

TEST_F(ModelsOfOthers, DeclaredShapeOfADataDependentValueIsIgnored) {
  // @model 11c
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[5] x) => (float[2] y) <int64[1, 4] found, int64[4] flat, float[4] picked, int64[1] all = {-1}>
    { found = NonZero(x) flat = Reshape(found, all) picked = Gather(x, flat) y = Neg(picked) })";
  EXPECT_EQ(RunOne(kModel, {Floats({5}, {1, 0, 3, 0, 5})}), "[3]: -1 -3 -5");
  EXPECT_EQ(RunOne(kModel, {Floats({5}, {0, 0, 0, 0, 0})}), "[0]:");
}

TEST_F(ModelsOfOthers, DeclaredShapeOfADataDependentValueIsIgnoredBetweenPartitions) {
  // The branches of the If are separate plans, so the values pass from one kernel to others.
  // @model 11d
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x, bool c) => (float[2] y) <int64[1, 2] found, int64[2] flat, float[2] picked, float[2] chosen,
                                             int64[1] all = {-1}>
    { found = NonZero(x) flat = Reshape(found, all) picked = Gather(x, flat)
      chosen = If (c) <then_branch = t () => (float[2] p) { p = Neg(picked) },
                       else_branch = e () => (float[2] q) { q = Mul(picked, picked) }>
      y = Abs(chosen) })";
  EXPECT_EQ(RunOne(kModel, {Floats({4}, {1, 2, 0, 3}), Bools({}, {true})}), "[3]: 1 2 3");
  EXPECT_EQ(RunOne(kModel, {Floats({4}, {1, 2, 0, 3}), Bools({}, {false})}), "[3]: 1 4 9");
}

TEST_F(ModelsOfOthers, AGatherInALoopIsDeclaredAsAVector) {
  // @model 11e
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, int64[4] table) => (int64[1] last, int64[N, 1] all) <int64[1] zero = {0}, bool yes = {1}>
    { start = ReduceSum <keepdims = 0> (table)
      last, all = Loop (n, yes, start) <body = b (int64 i, bool go, int64[1] sum) => (bool on, int64[1] next, int64[1] out)
        <int64[1] at> { at = Gather(table, i) next = Add(sum, at) on = Identity(go) out = Identity(next) }> })";
  const auto outputs = Run(kModel, {Int64s({}, {3}), Int64s({4}, {1, 2, 3, 4})});
  EXPECT_EQ(TextOf(*outputs[0]), "[]: 16");
  EXPECT_EQ(TextOf(*outputs[1]), "[3]: 11 13 16");
}

TEST_F(ModelsOfOthers, ACarriedValueGrowsBeyondItsDeclaredShape) {
  // @model 11f
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float[1] x) => (float[2] y) <bool yes = {1}>
    { grown = Loop (n, yes, x) <body = b (int64 i, bool go, float[1] v) => (bool on, float[2] w)
        { on = Identity(go) d = Mul(v, v) w = Concat <axis = 0> (d, x) }>
      y = Neg(grown) })";
  EXPECT_EQ(RunOne(kModel, {Int64s({}, {3}), Floats({1}, {2})}), "[4]: -256 -16 -4 -2");
  EXPECT_EQ(RunOne(kModel, {Int64s({}, {0}), Floats({1}, {2})}), "[1]: -2");
}

TEST_F(ModelsOfOthers, AScalarIsGivenAsAVectorOfOne) {
  // @model 11g
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x, int64 sr, float gain) => (float[3] y) <int64 rate = {16000}, float one = {1.0}>
    { fast = Equal(sr, rate)
      factor = If (fast) <then_branch = t () => (float f) { f = Identity(gain) },
                          else_branch = e () => (float f2) { f2 = Identity(one) }>
      y = Mul(x, factor) })";
  const ValuePtr x = Floats({3}, {1, 2, 3});
  EXPECT_EQ(RunOne(kModel, {x, Int64s({1}, {16000}), Floats({1}, {2})}), "[3]: 2 4 6");
  EXPECT_EQ(RunOne(kModel, {x, Int64s({}, {16000}), Floats({}, {2})}), "[3]: 2 4 6");
  EXPECT_EQ(RunOne(kModel, {x, Int64s({1}, {8000}), Floats({}, {2})}), "[3]: 1 2 3");
  EXPECT_THAT(FailureOf([&] {
                RunOne(kModel, {x, Int64s({2}, {1, 2}), Floats({}, {2})});
              }),
              HasSubstr("input 'sr' has shape [2], the model expects tensor(int64)[]"));
}

TEST_F(ModelsOfOthers, AnInputIsDeclaredAsAScalarAndIsNone) {
  // @model 11h
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64 length, float[6] x) => (float[N] y) <int64[1] rest = {3}>
    { shape = Concat <axis = 0> (length, rest) y = Reshape(x, shape) })";
  EXPECT_EQ(RunOne(kModel, {Int64s({1}, {2}), Floats({6}, {1, 2, 3, 4, 5, 6})}), "[2,3]: 1 2 3 4 5 6");
}

TEST_F(ModelsOfOthers, ADeclaredElementTypeThatIsWrongStaysAnError) {
  EXPECT_THAT(FailureOf([&] {
                Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) <int64[2] m> { m = Relu(x) y = Neg(m) })");
              }),
              HasSubstr("output 'm' is declared as tensor(int64)[2], but is tensor(float)[2]"));
}

TEST_F(ModelsOfOthers, WrongShapesAreReportedOnce) {
  testing::internal::CaptureStderr();
  RunOne(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[5] y) <float[1] m, float[2] n> { m = Relu(x) n = Neg(m) y = Abs(n) })",
         {Floats({2, 3}, {1, -2, 3, 4, 5, -6})});
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("the model declares shapes of 3 values"));
  EXPECT_THAT(log, HasSubstr("output 'm' is declared as tensor(float)[1], but is tensor(float)[2,3]"));
  EXPECT_THAT(log.substr(log.find('\n') + 1), Not(HasSubstr("declare")));
}

TEST_F(ModelsOfOthers, WrongSizeOfAnOutputIsReportedOnceAndTheRunContinues) {
  testing::internal::CaptureStderr();
  Session session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (int64[1, 2] y) { y = NonZero(x) })");
  EXPECT_EQ(session.outputs()[0].type->ToString(), "tensor(int64)[1,2]");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(TextOf(*session.Run(std::vector<ValuePtr>{Floats({4}, {1, 1, 0, 1})})[0]), "[1,3]: 0 1 3");
  }
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string warning = "output 'y' is tensor(int64)[1,3], but the model says tensor(int64)[1,2]";
  EXPECT_THAT(log, HasSubstr(warning));
  EXPECT_THAT(log.substr(log.find(warning) + 1), Not(HasSubstr(warning)));
}

// --- operators in opsets before the one that introduced them

TEST_F(ModelsOfOthers, LayerNormalizationInAnyOpset) {
  for (const int opset : {9, 11, 13, 16}) {
    // @model 12a opset=13
    const std::string model = fmt::format(R"(<ir_version: 8, opset_import: ["" : {}]>
      g (float[2, 2] x, float[2] w, float[2] b) => (float[2, 2] y)
      {{ y = LayerNormalization <axis = -1, epsilon = 0.0> (x, w, b) }})",
                                          opset);
    EXPECT_EQ(RunOne(model, {Floats({2, 2}, {1, 3, -4, 4}), Floats({2}, {1, 2}), Floats({2}, {0, 1})}),
              "[2,2]: -1 3 -1 3")
        << opset;
  }
}

TEST_F(ModelsOfOthers, ActivationsInOlderOpsets) {
  const auto run = [&](int opset, std::string_view op) {
    const std::string model = fmt::format(
        R"(<ir_version: 8, opset_import: ["" : {}]> g (float[3] x) => (float[3] y) {{ y = {} (x) }})", opset, op);
    return FloatsOf(*Run(model, {Floats({3}, {-4, 0, 4})})[0]);
  };
  EXPECT_THAT(run(12, "HardSwish"), Near({0, 0, 4}));
  EXPECT_THAT(run(17, "Gelu"), Near({-0.000126685f, 0, 3.999873f}));
  EXPECT_THAT(run(15, "Mish"), Near({-0.0725917f, 0, 3.99741f}));
  EXPECT_THAT(run(22, "Swish"), Near({-0.0719448f, 0, 3.92806f}));
  EXPECT_THAT(run(11, "Celu"), Near({-0.981684f, 0, 4}));
}

TEST_F(ModelsOfOthers, OlderOpsetIsReportedOnce) {
  testing::internal::CaptureStderr();
  Make(R"(<ir_version: 8, opset_import: ["" : 15]>
    g (float[3] x) => (float[3] y) { a = Gelu(x) b = Gelu(a) y = Gelu(b) })");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("Gelu is an operator of opset 20 and later, but the model is of opset 15"));
  EXPECT_THAT(log.substr(log.find('\n') + 1), Not(HasSubstr("Gelu")));
}

// --- Loop

TEST_F(ModelsOfOthers, ALoopDeclaresItsCounterAndConditionAsVectors) {
  // @model 13a
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64[1] n, bool[1] c, float[2] x) => (float[2] y)
    { y = Loop (n, c, x) <body = b (int64[1] i, bool[1] go, float[2] v) => (bool[1] on, float[2] w)
      { on = Identity(go) j = Cast <to = 1> (i) w = Add(v, j) }> })";
  EXPECT_EQ(RunOne(kModel, {Int64s({1}, {4}), Bools({1}, {true}), Floats({2}, {0, 10})}), "[2]: 6 16");
  EXPECT_EQ(RunOne(kModel, {Int64s({1}, {4}), Bools({1}, {false}), Floats({2}, {0, 10})}), "[2]: 0 10");
}

TEST_F(ModelsOfOthers, TheBodyGetsItsCounterOfTheRankThatItDeclares) {
  // @model 13b
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float[3] x) => (float[M, 1] y) <bool yes = {1}>
    { y = Loop (n, yes) <body = b (int64[1] i, bool go) => (bool on, float[1] out)
      { on = Identity(go) out = Gather(x, i) }> })";
  EXPECT_EQ(RunOne(kModel, {Int64s({}, {3}), Floats({3}, {5, 6, 7})}), "[3,1]: 5 6 7");
}

TEST_F(ModelsOfOthers, ALoopLeavesOutItsCondition) {
  // @model 13c
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float[3] x) => (float[M] y)
    { y = Loop (n, absent) <body = b (int64 i, bool go) => (bool on, float out)
      { on = Identity(go) out = Gather(x, i) }> })";
  EXPECT_EQ(RunOne(kModel, {Int64s({}, {2}), Floats({3}, {5, 6, 7})}), "[2]: 5 6");
}

TEST_F(ModelsOfOthers, ALoopLeavesOutBothAndEndsByItsBody) {
  // @model 13d
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x) => (float[M] y) <int64 most = {2}>
    { y = Loop (absent, absent) <body = b (int64 i, bool go) => (bool on, float out)
      { on = Less(i, most) out = Gather(x, i) }> })";
  EXPECT_EQ(RunOne(kModel, {Floats({3}, {5, 6, 7})}), "[3]: 5 6 7");
}

TEST_F(ModelsOfOthers, ALoopOfOneTurnWithAVectorCounterIsDecidedBeforeTheRun) {
  // @model 13e
  constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x) => (float[3] y) <int64[1] once = {1}, bool[1] yes = {1}>
    { y = Loop (once, yes, x) <body = b (int64[1] i, bool[1] go, float[3] v) => (bool[1] on, float[3] w)
      { on = Identity(go) first = Gather(x, i) w = Sub(v, first) }> })";
  EXPECT_EQ(RunOne(kModel, {Floats({3}, {5, 6, 7})}), "[3]: 0 1 2");
}

// --- opsets

TEST_F(ModelsOfOthers, OperatorsOfOpset26) {
  // @model 15a
  EXPECT_EQ(RunOne(R"(<ir_version: 11, opset_import: ["" : 26]>
    g (float[2, 3] x) => (float[2, 3] y) <int64 axis = {1}> { y = CumProd <exclusive = 1> (x, axis) })",
                   {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}),
            "[2,3]: 1 1 2 1 4 20");
  // @model 15b
  EXPECT_EQ(RunOne(R"(<ir_version: 11, opset_import: ["" : 26]>
    g (float[3] x) => (float[3] y) <int64 axis = {-1}> { y = CumProd <reverse = 1> (x, axis) })",
                   {Floats({3}, {1, 2, 3})}),
            "[3]: 6 6 3");
  // @model 15c
  EXPECT_EQ(RunOne(R"(<ir_version: 11, opset_import: ["" : 26]>
    g (float[3] x) => (int64[3] y) { a = BitCast <to = 6> (x) y = Cast <to = 7> (a) })",
                   {Floats({3}, {1, -2, 0})}),
            "[3]: 1065353216 -1073741824 0");
  // @model 15d
  EXPECT_EQ(RunOne(R"(<ir_version: 11, opset_import: ["" : 26]>
    g (int64[2] x) => (float[2] y) { a = Cast <to = 6> (x) y = BitCast <to = 1> (a) })",
                   {Int64s({2}, {1065353216, 1073741824})}),
            "[2]: 1 2");
  // @model 15e
  EXPECT_EQ(RunOne(R"(<ir_version: 11, opset_import: ["" : 26]>
    g (float[4, 4] x) => (float[4, 4] y) { a = Softmax(x) b = BitCast <to = 6> (a) c = BitCast <to = 1> (b)
      y = Sub(c, a) })",
                   {Floats({4, 4}, std::vector<float>(16, 1))}),
            "[4,4]: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
  EXPECT_THAT(FailureOf([&] {
                Make(R"(<ir_version: 11, opset_import: ["" : 26]>
    g (float[3] x) => (double[3] y) { y = BitCast <to = 11> (x) })");
              }),
              HasSubstr("float can't be taken for double"));
}

TEST_F(ModelsOfOthers, NewerOpsetsRunWithTheOperatorsThatAreKnown) {
  EXPECT_EQ(RunOne(R"(<ir_version: 11, opset_import: ["" : 31]>
    g (float[2, 2] x) => (float[2, 2] y) { a = MatMul(x, x) y = Softmax(a) })",
                   {Floats({2, 2}, {0, 0, 0, 0})}),
            "[2,2]: 0.5 0.5 0.5 0.5");
  const auto failure = [&](int opset, std::string_view node) {
    return FailureOf([&] {
      Make(fmt::format(R"(<ir_version: 11, opset_import: ["" : {}]>
        g (float[2] x, float a, float b) => (float[N] y) {{ y = {} }})",
                       opset, node));
    });
  };
  EXPECT_THAT(failure(27, "Range (a, b, a)"), HasSubstr("Range has changed in opset 27 of ai.onnx"));
  EXPECT_THAT(failure(27, "LinearAttention (x, x, x)"),
              HasSubstr("no operator of that name in opset 27 of domain 'ai.onnx'; opsets up to 26 are known"));
  EXPECT_THAT(failure(27, "Softmax <beta = 2.0> (x)"), HasSubstr("Softmax-13 has no attribute 'beta'"));
  EXPECT_EQ(failure(26, "Range (a, b, a)"), "OK");
}

// --- domains that opset_import leaves out

TEST_F(ModelsOfOthers, ADomainThatIsNotImportedIsOfVersionOne) {
  const ValuePtr x = Floats({1, 3}, {-4, 0, 4});
  const auto run = [&](std::string_view model, std::vector<ValuePtr> inputs) {
    return FloatsOf(*Run(model, std::move(inputs))[0]);
  };
  // @model 17a
  EXPECT_THAT(run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 3] x) => (float[1, 3] y) { y = com.microsoft.Gelu(x) })",
                  {x}),
              Near({-0.00012672f, 0, 3.99987f}));
  // @model 17b
  EXPECT_THAT(run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 3] x, float[3] b) => (float[1, 3] y) { y = com.microsoft.BiasGelu(x, b) })",
                  {x, Floats({3}, {4, 0, -4})}),
              Near({0, 0, 0}));
  // @model 17c
  EXPECT_THAT(run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 3] x) => (float[1, 3] y) { y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) })",
                  {x}),
              Near({-10, -2, 6}));
  // @model 17d
  EXPECT_THAT(run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 3] x) => (float[1, 3] y) { y = ai.onnx.ml.Binarizer <threshold = 0.0> (x) })",
                  {x}),
              Near({0, 0, 1}));
  // @model 17e
  EXPECT_THAT(run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 3] x) => (float[1, 3] y) { y = com.microsoft.FusedMatMul <alpha = 2.0, transA = 1> (x, x) })",
                  {x}),
              Near({32, -0, -32, -0, 0, 0, -32, 0, 32}));
}

TEST_F(ModelsOfOthers, MissingDomainIsReported) {
  testing::internal::CaptureStderr();
  Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 3] x) => (float[1, 3] y) { a = com.microsoft.Gelu(x) y = com.microsoft.Gelu(a) })");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("of the domain 'com.microsoft', which opset_import leaves out; version 1 is taken"));
  EXPECT_THAT(log.substr(log.find('\n') + 1), Not(HasSubstr("opset_import")));
}

}  // namespace
}  // namespace epiphyte::test
