// Limits of a run: session.max_value_bytes, session.max_run_bytes, and RunOptions' stop token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "core/base/thread_pool.h"
#include "core/onnx/model_reader.h"
#include "core/runtime/constant_evaluator.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string Header(int opset) {
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + ", \"ai.onnx.ml\" : 3]> ";
}

class LimitsTest : public testing::Test {
 protected:
  std::unique_ptr<Session> Make(std::string_view graph, std::map<std::string, std::string> settings, int opset = 17) {
    const std::string bytes = OnnxFromText(Header(opset) + std::string(graph));
    SessionOptions options = OptionsFor({"cpu"});
    for (const auto& [key, value] : settings) options.Set(key, value);
    return std::make_unique<Session>(*environment_, bytes.data(), bytes.size(), options);
  }
  static std::string Outcome(Session& session, std::vector<ValuePtr> inputs) {
    return FailureOf([&] { session.Run(inputs); });
  }

  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

TEST_F(LimitsTest, AnOutputAboveTheLimitOfAValueFailsBeforeItIsMade) {
  const auto session =
      Make("g (int64[1] s) => (float[N] y) { y = ConstantOfShape(s) }", {{"session.max_value_bytes", "1000000000"}});
  EXPECT_THAT(Outcome(*session, {Int64s({1}, {600'000'000})}),
              AllOf(StartsWith("FAIL"), HasSubstr("ConstantOfShape"), HasSubstr("a value of 2400000000 bytes"),
                    HasSubstr("session.max_value_bytes allows 1000000000")));
  EXPECT_EQ(Outcome(*session, {Int64s({1}, {1000})}), "OK");
}

TEST_F(LimitsTest, AValueOfExactlyTheLimitIsAllowed) {
  const auto session =
      Make("g (int64[1] s) => (float[N] y) { y = ConstantOfShape(s) }", {{"session.max_value_bytes", "4000"}});
  EXPECT_EQ(Outcome(*session, {Int64s({1}, {1000})}), "OK");
  EXPECT_NE(Outcome(*session, {Int64s({1}, {1001})}), "OK");
}

TEST_F(LimitsTest, WhatATensorCostsBesidesItsDataCountsForTheRunAlone) {
  const auto session =
      Make("g (int64[1] s) => (float[N] y) { y = ConstantOfShape(s) }", {{"session.max_value_bytes", "4"}});
  EXPECT_EQ(Outcome(*session, {Int64s({1}, {1})}), "OK");
}

TEST_F(LimitsTest, AValueInsideAPartitionIsLimitedToo) {
  const auto session = Make(R"(g (int64[1] s) => (float[] y) {
        big = ConstantOfShape(s)
        y = ReduceSum<keepdims = 0>(big) })",
                            {{"session.max_value_bytes", "1000000"}});
  EXPECT_THAT(Outcome(*session, {Int64s({1}, {600'000'000})}),
              AllOf(StartsWith("FAIL"), HasSubstr("2400000000 bytes"), HasSubstr("session.max_value_bytes")));
}

TEST_F(LimitsTest, AFunctionsBodyIsNotUnfoldedForAnOutputAboveTheLimit) {
  // No provider claims a Range with a shape that no tensor can have. Its function body would grow the result one number
  // at a time.
  EXPECT_THAT(
      FailureOf([&] {
        Make(R"(g () => (int64[N] y) <int64 start = {0}, int64 limit = {1152921504606846976}, int64 delta = {1}> {
                  y = Range(start, limit, delta) })",
             {});
      }),
      AllOf(StartsWith("FAIL"), HasSubstr("Range"), HasSubstr("its output 'y' is tensor(int64)[1152921504606846976]"),
            HasSubstr("session.max_value_bytes")));
}

TEST_F(LimitsTest, PaddingDoesNotMakeAPoolAllocateBeforeTheCheck) {
  const auto session = Make(R"(g (float[1, 1, 4] x) => (float[1, 1, N] y) {
        y = AveragePool<kernel_shape = [268435457], pads = [268435456, 268435456]>(x) })",
                            {{"session.max_value_bytes", "1000000"}});
  EXPECT_THAT(Outcome(*session, {Floats({1, 1, 4}, {1, 2, 3, 4})}),
              AllOf(StartsWith("FAIL"), HasSubstr("session.max_value_bytes")));
}

TEST_F(LimitsTest, ValuesThatAreAliveTogetherAreCountedTogether) {
  const std::string_view graph = R"(g (float[1] x, int64[1] s) => (float[N] y, float[N] z) {
        y = Expand(x, s)
        z = Neg(y) })";
  EXPECT_THAT(Outcome(*Make(graph, {{"session.max_run_bytes", "6000"}}), {Floats({1}, {1}), Int64s({1}, {1000})}),
              AllOf(StartsWith("FAIL"), HasSubstr("session.max_run_bytes allows 6000")));
  EXPECT_EQ(Outcome(*Make(graph, {{"session.max_run_bytes", "12000"}}), {Floats({1}, {1}), Int64s({1}, {1000})}), "OK");
}

TEST_F(LimitsTest, ALoopThatGathersWithoutEndIsStoppedByTheLimitOfARun) {
  const auto session = Make(R"(g (int64 n, bool c, float[1] x) => (float[1] last, float[N, 1] all) {
        last, all = Loop<body = step (int64 i, bool go, float[1] v) => (bool on, float[1] w, float[1] out) {
          on = Identity(go)
          w = Neg(v)
          out = Abs(v)
        }>(n, c, x) })",
                            {{"session.max_run_bytes", "4000000"}});
  EXPECT_THAT(Outcome(*session, {Int64s({}, {int64_t{1} << 62}), Bools({}, {true}), Floats({1}, {1})}),
              AllOf(StartsWith("FAIL"), HasSubstr("session.max_run_bytes allows 4000000")));
  EXPECT_EQ(Outcome(*session, {Int64s({}, {1000}), Bools({}, {true}), Floats({1}, {1})}), "OK");
}

TEST_F(LimitsTest, WhatALoopStacksIsRefusedAsSoonAsItIsTooLargeForAValue) {
  const auto session = Make(R"(g (int64 n, bool c, float[1000] x) => (float[N, 1000] all) {
        all = Loop<body = step (int64 i, bool go) => (bool on, float[1000] out) {
          on = Identity(go)
          out = Abs(x)
        }>(n, c) })",
                            {{"session.max_value_bytes", "1000000"}});
  const ValuePtr x = Floats({1000}, std::vector<float>(1000, 1));
  EXPECT_EQ(Outcome(*session, {Int64s({}, {250}), Bools({}, {true}), x}), "OK");
  EXPECT_THAT(Outcome(*session, {Int64s({}, {int64_t{1} << 62}), Bools({}, {true}), x}),
              AllOf(StartsWith("FAIL"), HasSubstr("Loop node"), HasSubstr("a value of 1004000 bytes is needed"),
                    HasSubstr("session.max_value_bytes allows 1000000")));
}

TEST_F(LimitsTest, ALoopThatKeepsNothingMayRunForLong) {
  const auto session = Make(R"(g (int64 n, bool c, float[1000] x) => (float[1000] last) {
        last = Loop<body = step (int64 i, bool go, float[1000] v) => (bool on, float[1000] w) {
          on = Identity(go)
          w = Neg(v)
        }>(n, c, x) })",
                            {{"session.max_run_bytes", "40000"}});
  EXPECT_EQ(Outcome(*session, {Int64s({}, {2000}), Bools({}, {true}), Floats({1000}, std::vector<float>(1000, 1))}),
            "OK");
}

TEST_F(LimitsTest, WhatAPartitionNeedsInsideIsGivenBackWhenItIsDone) {
  const auto session = Make(R"(g (int64 n, bool c, float[1] x) => (float[1] last) {
        last = Loop<body = step (int64 i, bool go, float[1] v) => (bool on, float[1] w) {
          on = Identity(go)
          size = Constant<value = int64[1] {1000000}>()
          big = Expand(v, size)
          sorted, order = TopK<axis = 0>(big, size)
          w = ReduceMean<axes = [0], keepdims = 1>(sorted)
        }>(n, c, x) })",
                            {{"session.max_run_bytes", "60000000"}});
  EXPECT_EQ(Outcome(*session, {Int64s({}, {12}), Bools({}, {true}), Floats({1}, {1})}), "OK");
}

TEST_F(LimitsTest, ScansGiveBackTheirSlices) {
  const auto session = Make(R"(g (float[1] s, float[500, 10] x) => (float[1] last, float[500, 10] all) {
        last, all = Scan<num_scan_inputs = 1, body = step (float[1] v, float[10] row) => (float[1] w, float[10] out) {
          w = Neg(v)
          out = Abs(row)
        }>(s, x) })",
                            {{"session.max_run_bytes", "400000"}});
  // The limit has room for 500 slices of output and their stack, but not for 500 slices of input as well.
  EXPECT_EQ(Outcome(*session, {Floats({1}, {1}), Floats({500, 10}, std::vector<float>(5000, 1))}), "OK");
}

TEST_F(LimitsTest, TextsThatALoopGathersAreCountedToo) {
  const std::string_view graph = R"(g (int64 n, bool c, string[1000] t) => (string[N, 2000] all) {
        all = Loop<body = step (int64 i, bool go) => (bool on, string[2000] out) {
          on = Identity(go)
          out = Concat<axis = 0>(t, t)
        }>(n, c) })";
  const std::vector<ValuePtr> inputs = {
      Int64s({}, {100}), Bools({}, {true}),
      core::Value::Strings(std::vector<int64_t>{1000}, std::vector<std::string>(1000, "a"))};
  // The slices fit into the limit, but not together with their stack. A string takes 16 bytes.
  EXPECT_THAT(Outcome(*Make(graph, {{"session.max_run_bytes", "5000000"}}), inputs),
              AllOf(StartsWith("FAIL"), HasSubstr("session.max_run_bytes allows 5000000")));
  EXPECT_EQ(Outcome(*Make(graph, {{"session.max_run_bytes", "10000000"}}), inputs), "OK");
}

TEST_F(LimitsTest, CopiesOfATextAreCountedBeforeTheyAreMade) {
  const std::string_view graphs[] = {
      "g (string[1] t, int64[1] s) => (string[N] y) { y = Expand(t, s) }",
      "g (string[1] t, int64[1] s) => (string[N] y) { y = Tile(t, s) }",
      "g (string[1] t, int64[1] s) => (string[N] y) { z = Constant<value = int64[1] {0}>() i = Expand(z, s) "
      "y = Gather(t, i) }",
      "g (string[1] t, int64[1] s) => (string[N] y) { f = Constant<value = bool[1] {1}>() c = Expand(f, s) "
      "y = Where(c, t, t) }",
      "g (string[1] t, int64[1] s) => (string[N] y) { z = Constant<value = int64[1] {0}>() i = Expand(z, s) "
      "y = GatherElements(t, i) }",
      "g (string[1] t, int64[1] s) => (string[N] y) { z = Constant<value = int64[1, 1] {0}>() "
      "one = Constant<value = int64[1] {1}>() d = Concat<axis = 0>(s, one) i = Expand(z, d) y = GatherND(t, i) }",
      // The model makes many copies of a pair of strings.
      "g (string[1] t, int64[1] s) => (string[N, 2] y) { u = Concat<axis = 0>(t, t) "
      "two = Constant<value = int64[1] {2}>() d = Concat<axis = 0>(s, two) y = Expand(u, d) }",
      "g (string[1] t, int64[1] s) => (string[N] y) { z = Constant<value = int64[1] {0}>() p = Concat<axis = 0>(z, s) "
      "y = Pad<mode = \"edge\">(t, p) }",
      "g (string[1] t, int64[1] s) => (string[N] y) { z = Constant<value = int64[1] {0}>() p = Concat<axis = 0>(z, s) "
      "i = Constant<value = int64 {0}>() v = Gather(t, i) y = Pad(t, p, v) }",
      "g (string[1] t, int64[1] s) => (string[N] y) { y = Resize<mode = \"nearest\">(t, , , s) }",
      "g (string[1] t, int64[1] s) => (string[1, N] y) { z = Constant<value = int64[1] {0}>() i = Expand(z, s) "
      "y = ai.onnx.ml.ArrayFeatureExtractor(t, i) }",
  };
  const ValuePtr text = core::Value::Strings(std::vector<int64_t>{1}, {std::string(100'000, 'a')});
  for (const std::string_view graph : graphs) {
    const auto session = Make(graph, {{"session.max_value_bytes", "50000000"}});
    EXPECT_EQ(Outcome(*session, {text, Int64s({1}, {100})}), "OK") << graph;
    EXPECT_THAT(Outcome(*session, {text, Int64s({1}, {1000})}),
                AllOf(StartsWith("FAIL"), HasSubstr("session.max_value_bytes allows 50000000")))
        << graph;
  }
}

TEST_F(LimitsTest, ALongTextThatPadsOnceIsCountedOnce) {
  const auto session = Make(R"(g (string t, string[A] x) => (string[N] y) {
        p = Constant<value = int64[2] {1, 0}>()
        y = Pad(x, p, t) })",
                            {{"session.max_value_bytes", "1000000"}});
  EXPECT_EQ(Outcome(*session, {core::Value::Strings(std::vector<int64_t>{}, {std::string(100'000, 'a')}),
                               core::Value::Strings(std::vector<int64_t>{100}, std::vector<std::string>(100, "b"))}),
            "OK");
}

TEST_F(LimitsTest, ATextThatDoublesInALoopIsRefused) {
  const auto session = Make(R"(g (int64 n, bool c, string[1] t) => (string[1] last) {
        last = Loop<body = step (int64 i, bool go, string[1] v) => (bool on, string[1] w) {
          on = Identity(go)
          w = StringConcat(v, v)
        }>(n, c, t) })",
                            {{"session.max_value_bytes", "50000000"}}, 20);
  const ValuePtr text = core::Value::Strings(std::vector<int64_t>{1}, {std::string("a")});
  EXPECT_EQ(Outcome(*session, {Int64s({}, {10}), Bools({}, {true}), text}), "OK");
  EXPECT_THAT(Outcome(*session, {Int64s({}, {60}), Bools({}, {true}), text}),
              AllOf(StartsWith("FAIL"), HasSubstr("StringConcat"), HasSubstr("session.max_value_bytes")));
}

TEST_F(LimitsTest, RowsOfAGridAreNotMadeBeforeTheGridIsAllowed) {
  const auto session =
      Make("g (float[1, 2, 3] theta, int64[4] size) => (float[N, H, W, 2] y) { y = AffineGrid(theta, size) }",
           {{"session.max_value_bytes", "10000000"}}, 20);
  const ValuePtr theta = Floats({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  EXPECT_EQ(Outcome(*session, {theta, Int64s({4}, {1, 1, 10, 1000})}), "OK");
  EXPECT_THAT(Outcome(*session, {theta, Int64s({4}, {1, 1, 1, int64_t{1} << 40})}),
              AllOf(StartsWith("FAIL"), HasSubstr("AffineGrid"), HasSubstr("session.max_value_bytes")));
}

TEST_F(LimitsTest, TablesOfATransformAreCountedBeforeTheyAreMade) {
  const auto session = Make("g (float[1, 8, 1] x, int64 n) => (float[1, N, 2] y) { y = DFT(x, n) }",
                            {{"session.max_value_bytes", "10000000"}});
  EXPECT_EQ(Outcome(*session, {Floats({1, 8, 1}, std::vector<float>(8, 1)), Int64s({}, {1000})}), "OK");
  // The output takes 2.4 MB; the tables take ten times as much.
  EXPECT_THAT(Outcome(*session, {Floats({1, 8, 1}, std::vector<float>(8, 1)), Int64s({}, {300'001})}),
              AllOf(StartsWith("FAIL"), HasSubstr("DFT"), HasSubstr("session.max_value_bytes")));
}

TEST_F(LimitsTest, ASecondRunInTheSameMemoryIsCountedOnce) {
  const auto session = Make(R"(g (float[1] x, int64[1] s) => (float[] y) {
        big = Expand(x, s)
        cubed = Mul(big, big)
        y = ReduceSum<keepdims = 0>(cubed) })",
                            {{"session.max_run_bytes", "10000000"}});
  for (int run = 0; run < 4; ++run) {
    EXPECT_EQ(Outcome(*session, {Floats({1}, {1}), Int64s({1}, {1'000'000})}), "OK") << run;
  }
}

TEST_F(LimitsTest, WithoutOptionsTheMachinesMemoryIsTheLimit) {
  const auto session = Make("g (int64[1] s) => (float[N] y) { y = ConstantOfShape(s) }", {});
  EXPECT_THAT(Outcome(*session, {Int64s({1}, {int64_t{1} << 42})}),
              AllOf(StartsWith("FAIL"), HasSubstr("session.max_value_bytes"),
                    HasSubstr(std::to_string(environment_->memory() / 2))));
}

TEST_F(LimitsTest, AModelWithMoreNodesThanTheLimitIsRefusedNestedOnesIncluded) {
  const std::string_view graph = R"(g (bool c, float[1] x) => (float[1] y) {
        y = If(c) <then_branch = a () => (float[1] p) { p0 = Neg(x) p = Abs(p0) },
                   else_branch = b () => (float[1] q) { q = Neg(x) }> })";
  EXPECT_NE(Make(graph, {{"session.max_nodes", "4"}}), nullptr);
  EXPECT_THAT(FailureOf([&] {
                Make(graph, {{"session.max_nodes", "3"}});
              }),
              AllOf(StartsWith("FAIL"), HasSubstr("the model has 4 nodes or more, session.max_nodes allows 3")));
}

TEST_F(LimitsTest, ALoopWithoutEndCanBeCancelled) {
  const auto session = Make(R"(g (int64 n, bool c, float[1] x) => (float[1] last) {
        last = Loop<body = step (int64 i, bool go, float[1] v) => (bool on, float[1] w) {
          on = Identity(go)
          w = Neg(v)
        }>(n, c, x) })",
                            {});
  std::stop_source source;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    source.request_stop();
  });
  const std::vector<ValuePtr> inputs = {Int64s({}, {INT64_MAX}), Bools({}, {true}), Floats({1}, {1})};
  EXPECT_EQ(FailureOf([&] { session->Run(inputs, {.stop = source.get_token()}); }), "CANCELED: the run was cancelled");
  canceller.join();
}

TEST_F(LimitsTest, ARunIsCancelledBetweenTheNodesOfAPartition) {
  const auto session = Make("g (float[1] x) => (float[1] y) { y = Neg(x) }", {});
  std::stop_source source;
  const std::vector<ValuePtr> inputs = {Floats({1}, {1})};
  EXPECT_EQ(FailureOf([&] { session->Run(inputs, {.stop = source.get_token()}); }), "OK");
  source.request_stop();
  EXPECT_THAT(FailureOf([&] { session->Run(inputs, {.stop = source.get_token()}); }),
              HasSubstr("the run was cancelled"));
}

TEST_F(LimitsTest, ConstantsLargerThanTheLimitOfFoldingAreNeverMade) {
  const std::string bytes = OnnxFromText(Header(17) + R"(g () => (float[N] y) {
        s = Constant<value = int64[1] {1000}>()
        y = ConstantOfShape(s) })");
  core::ReadOptions options;
  core::Model model = core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, options);
  core::Node* fill = nullptr;
  core::Node* constant = nullptr;
  for (core::Node* node : model.graph->TopologicalOrder()) (node->op_type() == "Constant" ? constant : fill) = node;
  ASSERT_NE(fill, nullptr);
  core::ValueDef* shape = fill->inputs()[0];
  const core::ConstantPtr data = constant->FindAttribute("value")->t();
  model.graph->RemoveNode(constant);
  model.graph->SetConstant(shape, data);
  core::ThreadPool pool(1);
  core::ConstantEvaluator evaluator(&environment_->catalog().Load("cpu"), &pool);
  std::vector<core::ConstantPtr> results;
  EXPECT_TRUE(evaluator.Evaluate(*fill, 4000, &results));
  EXPECT_FALSE(evaluator.Evaluate(*fill, 3999, &results));
}

}  // namespace
}  // namespace epiphyte::test
