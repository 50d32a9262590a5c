// Outputs of a run belong to its caller: writing to an output changes neither the model nor another output.
#include "core/runtime/run_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::Session;
using core::SessionOptions;
using core::Value;
using core::ValuePtr;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Values = std::vector<ValuePtr>;

// Sets every number of a value of floats to 77.
void Overwrite(Value& value) {
  if (value.IsTensor()) {
    std::fill_n(static_cast<float*>(value.mutable_data()), value.element_count(), 77.0f);
  }
  for (const ValuePtr& element : value.elements()) Overwrite(*element);
}

class RunOutputsTest : public testing::Test {
 protected:
  std::unique_ptr<Session> Make(const std::string& graph, SessionOptions options = OptionsFor({"cpu"})) {
    const std::string bytes = OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]> " + graph);
    return std::make_unique<Session>(*environment_, bytes.data(), bytes.size(), options);
  }

  // Returns the floats of each output. For a sequence, the floats of its elements are concatenated.
  static std::vector<std::vector<float>> FloatsOfAll(const Values& outputs) {
    std::vector<std::vector<float>> all;
    for (const ValuePtr& output : outputs) {
      all.push_back(output->IsTensor() ? FloatsOf(*output) : std::vector<float>());
      for (const ValuePtr& element : output->elements()) {
        const std::vector<float> numbers = FloatsOf(*element);
        all.back().insert(all.back().end(), numbers.begin(), numbers.end());
      }
    }
    return all;
  }

  // Expects a run to give the same result after any output of the previous run was overwritten.
  void ExpectOutputsAreOwn(const std::string& graph, const Values& inputs) {
    const std::unique_ptr<Session> session = Make(graph);
    const auto expected = FloatsOfAll(session->Run(inputs));
    for (size_t i = 0; i < session->outputs().size(); ++i) {
      const Values outputs = session->Run(inputs);
      Overwrite(*outputs[i]);
      auto others = FloatsOfAll(outputs);
      EXPECT_EQ(FloatsOfAll(session->Run(inputs)), expected) << "after output " << i << " was written to";
      ASSERT_EQ(others.size(), expected.size());
      others[i] = expected[i];
      EXPECT_EQ(others, expected) << "output " << i << " was written to";
    }
  }

  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

TEST_F(RunOutputsTest, AConstantThatIsAnOutputIsTheCallers) {
  ExpectOutputsAreOwn("g (float[2] x) => (float[2] y, float[2] w) <float[2] w = {1, 2}> { y = Add(x, w) }",
                      {Floats({2}, {10, 20})});
}

TEST_F(RunOutputsTest, AWeightOfAMappedFileThatIsAnOutputIsTheCallers) {
  std::string weight = "{0";
  for (int i = 1; i < 4096; ++i) weight += ", " + std::to_string(i);
  const TempDir dir;
  const auto path = dir.Write(
      "m.onnx", OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]> g (float[1] x) => (float[4096] w, float[4096] "
                             "y) <float[4096] w = " +
                             weight + "}> { y = Mul(w, x) }"));
  Session session(*environment_, path, OptionsFor({"cpu"}));
  const Values inputs = {Floats({1}, {2})};
  for (int run = 0; run < 2; ++run) {
    const Values outputs = session.Run(inputs);
    EXPECT_EQ(FloatsOf(*outputs[0])[4095], 4095.0f);
    EXPECT_EQ(FloatsOf(*outputs[1])[4095], 8190.0f);
    Overwrite(*outputs[0]);
  }
}

TEST_F(RunOutputsTest, ALoopWithoutTurnsGivesACopyOfTheConstantThatItBeginsWith) {
  constexpr auto kLoop =
      R"(g (int64 n, float[2] x) => (float[2] last, float[2] y) <float[2] w = {1, 2}, bool on = {1}> {
    last = Loop (n, on, w) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
      d = Identity(c)
      t = Add(s, x)
    }>
    y = Add(w, x)
  })";
  ExpectOutputsAreOwn(kLoop, {Int64s({}, {0}), Floats({2}, {10, 20})});
  ExpectOutputsAreOwn(kLoop, {Int64s({}, {2}), Floats({2}, {10, 20})});
}

TEST_F(RunOutputsTest, AScanWithoutSlicesGivesACopyOfTheConstantThatItBeginsWith) {
  ExpectOutputsAreOwn(R"(g (float[N, 2] x) => (float[2] last, float[2] y) <float[2] w = {1, 2}> {
    last = Scan (w, x) <num_scan_inputs = 1, body = b (float[2] s, float[2] a) => (float[2] t) { t = Add(s, a) }>
    y = Neg(w)
  })",
                      {Floats({0, 2}, {})});
}

TEST_F(RunOutputsTest, ABranchThatGivesAConstantOfItsOwnGivesACopy) {
  constexpr auto kBranches = R"(g (bool c, float[2] x) => (float[2] y, float[2] z) <float[2] w = {1, 2}> {
    y = If (c) <
      then_branch = t () => (float[2] a) <float[2] a = {3, 4}> {},
      else_branch = e () => (float[2] b) {
        b = If (c) <then_branch = u () => (float[2] p) { p = Neg(x) }, else_branch = v () => (float[2] q) { q = Identity(w) }>
      }>
    z = Add(w, x)
  })";
  ExpectOutputsAreOwn(kBranches, {Bools({}, {true}), Floats({2}, {10, 20})});
  ExpectOutputsAreOwn(kBranches, {Bools({}, {false}), Floats({2}, {10, 20})});
}

TEST_F(RunOutputsTest, ASequenceThatHoldsConstantsHoldsCopies) {
  ExpectOutputsAreOwn(R"(g (float[2] x) => (s, float[2] y) <float[2] w = {1, 2}> {
    n = Neg(x)
    s = SequenceConstruct(w, n, w)
    y = Add(w, x)
  })",
                      {Floats({2}, {10, 20})});
}

TEST_F(RunOutputsTest, AnElementOfASequenceThatIsAnOutputTooIsNotTheSequences) {
  ExpectOutputsAreOwn(R"(g (float[2] x, int64 i) => (s, float[2] e) <float[2] w = {1, 2}> {
    n = Neg(x)
    s = SequenceConstruct(n, w)
    e = SequenceAt(s, i)
  })",
                      {Floats({2}, {10, 20}), Int64s({}, {0})});
}

TEST_F(RunOutputsTest, AnOptionalThatHoldsAConstantHoldsACopy) {
  ExpectOutputsAreOwn(R"(g (float[2] x) => (o, float[2] y) <float[2] w = {1, 2}> {
    o = Optional(w)
    y = Add(w, x)
  })",
                      {Floats({2}, {10, 20})});
}

TEST_F(RunOutputsTest, OneValueAsTwoOutputsIsTwoValues) {
  for (const char* level : {"0", "2"}) {
    SessionOptions options = OptionsFor({"cpu"});
    options.Set("epiphyte.graph_optimization_level", level);
    const auto session = Make("g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Identity(y) }", options);
    const Values outputs = session->Run(Values{Floats({2}, {1, 2})});
    Overwrite(*outputs[0]);
    EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-1, -2)) << level;
  }
}

TEST_F(RunOutputsTest, AnInputThatIsAnOutputIsTheValueThatWasGiven) {
  const ValuePtr x = Floats({2}, {1, 2});
  const ValuePtr elements = Value::Sequence(DataType::kFloat, {Floats({1}, {3}), Floats({1}, {4})});
  const auto session = Make("g (float[2] x, s) => (float[2] x, s, float[2] y) { y = Neg(x) }");
  const Values outputs = session->Run(Values{x, elements});
  EXPECT_EQ(outputs[0].get(), x.get());
  EXPECT_EQ(outputs[1].get(), elements.get());
}

TEST_F(RunOutputsTest, WhatOnlyTheCallerHasIsNotCopied) {
  constexpr int64_t kCount = 100000;
  SessionOptions options = OptionsFor({"cpu"});
  // The limit has room for one output, but not for a copy of it.
  options.Set("session.max_run_bytes", std::to_string(kCount * sizeof(float) * 3 / 2));
  const auto session = Make("g (float[N] x) => (float[N] y) { y = Neg(x) }", options);
  const Values inputs = {Floats({kCount}, std::vector<float>(kCount, 1))};
  EXPECT_THAT(FloatsOf(*session->Run(inputs)[0]), Each(-1));
}

TEST_F(RunOutputsTest, ACopyCountsAsWhatTheRunMakes) {
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("session.max_value_bytes", "16");
  const auto session = Make(
      "g (float[2] x) => (float[2] y, float[8] w) <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = Neg(x) }", options);
  EXPECT_THAT(FailureOf([&] {
                session->Run(Values{Floats({2}, {1, 2})});
              }),
              AllOf(StartsWith("FAIL: output 'w': "), HasSubstr("session.max_value_bytes")));
}

TEST_F(RunOutputsTest, AConstantIsReadOnly) {
  const float numbers[] = {1, 2};
  const ValuePtr constant = Value::FromConstant(core::Constant::Copy(DataType::kFloat, {2}, numbers, sizeof numbers));
  EXPECT_TRUE(constant->IsReadOnly());
  EXPECT_THAT(FailureOf([&] { constant->mutable_data(); }), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("copy")));
  const ValuePtr copy = Value::CopyOf(*constant);
  EXPECT_FALSE(copy->IsReadOnly());
  EXPECT_NE(copy->data(), constant->data());
  EXPECT_THAT(FloatsOf(*copy), ElementsAre(1, 2));
}

TEST_F(RunOutputsTest, AConstantThatIsGivenAndPassedThroughStaysReadOnly) {
  const float numbers[] = {1, 2};
  const ValuePtr constant = Value::FromConstant(core::Constant::Copy(DataType::kFloat, {2}, numbers, sizeof numbers));
  const auto session = Make("g (float[2] x) => (float[2] x, float[2] y) { y = Neg(x) }");
  const Values outputs = session->Run(Values{constant});
  EXPECT_EQ(outputs[0].get(), constant.get());
  core::RunBindings bindings;
  bindings.outputs = {{}, {constant, nullptr}};
  core::RunSettings settings;
  settings.bindings = &bindings;
  EXPECT_THAT(FailureOf([&] { session->Run(Values{constant}, settings); }),
              AllOf(StartsWith("INVALID_ARGUMENT: output 'y'"), HasSubstr("read-only")));
}

}  // namespace
}  // namespace epiphyte::test
