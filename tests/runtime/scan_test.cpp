// Scan from opset 9 on and Scan of opset 8: the slices that the body gets, the position of its results, and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::Value;
using core::ValuePtr;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ScanTest : public testing::Test {
 protected:
  std::unique_ptr<Session> Make(const std::string& graph, int opset = 17) {
    const std::string bytes = OnnxFromText("<ir_version: " + std::to_string(opset < 9 ? 3 : 8) +
                                           ", opset_import: [\"\" : " + std::to_string(opset) + "]> " + graph);
    return std::make_unique<Session>(*environment_, bytes.data(), bytes.size(), OptionsFor({"cpu"}));
  }
  std::vector<ValuePtr> Run(const std::string& graph, std::vector<ValuePtr> inputs, int opset = 17) {
    return Make(graph, opset)->Run(inputs);
  }
  std::string Refusal(const std::string& graph, std::vector<ValuePtr> inputs, int opset = 17) {
    return FailureOf([&] { Run(graph, std::move(inputs), opset); });
  }

  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

std::vector<int64_t> DimsOf(const ValuePtr& value) { return {value->dims().begin(), value->dims().end()}; }

// --- from opset 9 on

// Returns a graph that adds the columns of x, forward, and the rows of y, backward.
std::string TwoByTwo(const std::string& attributes) {
  return R"(g (float[2] start, float[2, 3] x, float[3, 2] y) => (float[2] last, float[A, B] sums, float[C, D] states) {
    last, sums, states = Scan (start, x, y) <num_scan_inputs = 2, )" +
         attributes + R"(,
      body = step (float[2] s, float[2] a, float[2] b) => (float[2] t, float[2] sum, float[2] seen) {
        sum = Add(a, b)
        t = Add(s, a)
        seen = Identity(t)
      }> })";
}
std::vector<ValuePtr> TwoByTwoInputs() {
  return {Floats({2}, {0, 0}), Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({3, 2}, {10, 20, 30, 40, 50, 60})};
}

TEST_F(ScanTest, EachInputAndOutputHasAnAxisAndADirectionOfItsOwn) {
  const auto outputs = Run(TwoByTwo("scan_input_axes = [1, 0], scan_input_directions = [0, 1], "
                                    "scan_output_axes = [1, 0], scan_output_directions = [0, 1]"),
                           TwoByTwoInputs());
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(6, 15));
  EXPECT_THAT(DimsOf(outputs[1]), ElementsAre(2, 3));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(51, 32, 13, 64, 45, 26));
  EXPECT_THAT(DimsOf(outputs[2]), ElementsAre(3, 2));
  EXPECT_THAT(FloatsOf(*outputs[2]), ElementsAre(6, 15, 3, 9, 1, 4));
}

TEST_F(ScanTest, NegativeAxesCountFromTheEnd) {
  const auto positive = Run(TwoByTwo("scan_input_axes = [1, 0], scan_output_axes = [1, 0]"), TwoByTwoInputs());
  const auto negative = Run(TwoByTwo("scan_input_axes = [-1, -2], scan_output_axes = [-1, -2]"), TwoByTwoInputs());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(DimsOf(negative[i]), DimsOf(positive[i])) << i;
    EXPECT_EQ(FloatsOf(*negative[i]), FloatsOf(*positive[i])) << i;
  }
  EXPECT_THAT(FloatsOf(*positive[1]), ElementsAre(11, 32, 53, 24, 45, 66));
}

TEST_F(ScanTest, TheBodySeesTheValuesAroundIt) {
  const auto outputs = Run(R"(g (float[1] factor, float[3, 1] x) => (float[3, 1] y) {
    y = Scan (x) <num_scan_inputs = 1, body = step (float[1] a) => (float[1] b) { b = Mul(a, factor) }> })",
                           {Floats({1}, {3}), Floats({3, 1}, {1, 2, 3})});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(3, 6, 9));
}

TEST_F(ScanTest, TextIsTakenApartAndPutTogether) {
  const auto outputs = Run(R"(g (string[2, 2] x) => (string[A, B] y) {
    y = Scan (x) <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [1],
      body = step (string[2] a) => (string[2] b) { b = Identity(a) }> })",
                           {Value::Strings(std::vector<int64_t>{2, 2}, {"a", "b", "c", "d"})});
  ASSERT_THAT(DimsOf(outputs[0]), ElementsAre(2, 2));
  std::string all;
  for (uint64_t i = 0; i < 4; ++i) all += outputs[0]->string_at(i);
  EXPECT_EQ(all, "badc");
}

TEST_F(ScanTest, WithoutStepsTheStatesComeBackAndNothingIsStacked) {
  const auto outputs = Run(R"(g (float[1] start, float[N, 2] x) => (float[1] last, float[A, B] y) {
    last, y = Scan (start, x) <num_scan_inputs = 1, scan_output_axes = [-1],
      body = step (float[1] s, float[2] a) => (float[1] t, float[2] b) { t = Neg(s) b = Neg(a) }> })",
                           {Floats({1}, {7}), Floats({0, 2}, {})});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(7));
  EXPECT_THAT(DimsOf(outputs[1]), ElementsAre(2, 0));
}

TEST_F(ScanTest, InputsOfDifferentLengthsAreRefused) {
  EXPECT_THAT(Refusal(R"(g (float[N, 1] x, float[M, 1] y) => (float[A, 1] z) {
    z = Scan (x, y) <num_scan_inputs = 2, body = step (float[1] a, float[1] b) => (float[1] c) { c = Add(a, b) }> })",
                      {Floats({2, 1}, {1, 2}), Floats({3, 1}, {1, 2, 3})}),
              HasSubstr("scan inputs have lengths 2 and 3; they must be equal"));
}

TEST_F(ScanTest, InputsWithoutTheAxisAreRefused) {
  const std::string graph = R"(g (float[] x) => (float[] y) {
    y = Scan (x) <num_scan_inputs = 1, scan_input_axes = [AXIS], body = step (float[] a) => (float[] b) { b = Neg(a) }> })";
  const auto with_axis = [&](const std::string& axis) {
    std::string text = graph;
    return text.replace(text.find("AXIS"), 4, axis);
  };
  EXPECT_THAT(Refusal(with_axis("0"), {Floats({}, {1})}), HasSubstr("scan input 0 must be a tensor of rank 1 or more"));
  EXPECT_THAT(Refusal(with_axis("1"), {Floats({2}, {1, 2})}), HasSubstr("scan_input_axes[0] is 1, outside rank 1"));
  EXPECT_THAT(Refusal(with_axis("-2"), {Floats({2}, {1, 2})}), HasSubstr("scan_input_axes[0] is -2, outside rank 1"));
  EXPECT_THAT(FloatsOf(*Run(with_axis("-2"), {Floats({2, 1}, {1, 2})})[0]), ElementsAre(-1, -2));
}

TEST_F(ScanTest, AnOutputAxisOutsideOfTheStackIsRefused) {
  EXPECT_THAT(Refusal(R"(g (float[] x) => (float[] y) {
    y = Scan (x) <num_scan_inputs = 1, scan_output_axes = [2], body = step (float[] a) => (float[] b) { b = Neg(a) }> })",
                      {Floats({2, 1}, {1, 2})}),
              HasSubstr("axis 2 is outside a tensor of rank 2"));
}

TEST_F(ScanTest, StepsThatGiveDifferentShapesAreRefused) {
  EXPECT_THAT(Refusal(R"(g (int64[2, 1] x) => (float[] y) {
    y = Scan (x) <num_scan_inputs = 1, body = step (int64[1] n) => (float[] b) { b = ConstantOfShape(n) }> })",
                      {Int64s({2, 1}, {1, 2})}),
              HasSubstr("different types or shapes"));
}

TEST_F(ScanTest, AttributesThatDoNotFitAreRefused) {
  const auto refusal = [&](const std::string& attributes) {
    return Refusal(R"(g (float[2, 1] x) => (float[] y) { y = Scan (x) <)" + attributes +
                       "body = step (float[1] a) => (float[1] b) { b = Neg(a) }> }",
                   {Floats({2, 1}, {1, 2})});
  };
  EXPECT_EQ(refusal("num_scan_inputs = 1, "), "OK");
  // libonnx's inference detects some of these errors first.
  EXPECT_THAT(refusal("num_scan_inputs = 0, "), HasSubstr("INVALID_GRAPH: Scan node that makes 'y'"));
  EXPECT_THAT(refusal("num_scan_inputs = 2, "), HasSubstr("num_scan_inputs"));
  EXPECT_THAT(refusal("num_scan_inputs = 1, scan_input_axes = [0, 0], "), HasSubstr("scan input axes"));
  EXPECT_THAT(refusal("num_scan_inputs = 1, scan_output_axes = [0, 0], "), HasSubstr("scan output axes"));
  EXPECT_THAT(refusal("num_scan_inputs = 1, scan_input_directions = [2], "),
              HasSubstr("'scan_input_directions' holds 2, 0 (forward) or 1 (backward) expected"));
  EXPECT_THAT(refusal("num_scan_inputs = 1, scan_output_directions = [-1], "),
              HasSubstr("'scan_output_directions' holds -1, 0 (forward) or 1 (backward) expected"));
}

TEST_F(ScanTest, ABodyOfAnotherArityIsRefused) {
  EXPECT_THAT(Refusal(R"(g (float[1] s, float[2, 1] x) => (float[] t, float[] y) {
    t, y = Scan (s, x) <num_scan_inputs = 1, body = step (float[1] a) => (float[1] u, float[1] b) { u = Neg(a) b = Abs(a) }> })",
                      {Floats({1}, {1}), Floats({2, 1}, {1, 2})}),
              HasSubstr("Scan"));
}

TEST_F(ScanTest, StopsWhenTheRunIsCancelled) {
  const auto session = Make(R"(g (float[1] start, float[N, 1] x) => (float[1] last) {
    last = Scan (start, x) <num_scan_inputs = 1, body = step (float[1] s, float[1] a) => (float[1] t) { t = Add(s, a) }> })");
  // The run has many more steps than are done when it is cancelled.
  const ValuePtr many = Floats({8'000'000, 1}, std::vector<float>(8'000'000, 1));
  std::stop_source source;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    source.request_stop();
  });
  EXPECT_EQ(FailureOf([&] {
              session->Run(std::vector<ValuePtr>{Floats({1}, {0}), many}, {.stop = source.get_token()});
            }),
            "CANCELED: the run was cancelled");
  canceller.join();
  EXPECT_THAT(FloatsOf(*session->Run(std::vector<ValuePtr>{Floats({1}, {0}), Floats({3, 1}, {1, 2, 3})})[0]),
              ElementsAre(6));
}

// --- opset 8: batches, each with its own length

// Returns a graph; `lengths` is the input with the lengths, or "".
std::string Batches(const std::string& lengths, const std::string& attributes = "") {
  return "g (" + (lengths.empty() ? "" : "int64[] " + lengths + ", ") +
         R"(float[B, 1] start, float[B, T, 1] x) => (float[] last, float[] all) {
    last, all = Scan ()" +
         (lengths.empty() ? "absent" : lengths) + R"(, start, x) <num_scan_inputs = 1, )" + attributes +
         R"(body = step (float[1] s, float[1] a) => (float[1] t, float[1] b) { t = Add(s, a) b = Identity(t) }> })";
}
const std::vector<float> kSixNumbers = {1, 2, 3, 10, 20, 30};

TEST_F(ScanTest, OfOpset8RunsEachBatchByItself) {
  const auto outputs = Run(Batches(""), {Floats({2, 1}, {0, 100}), Floats({2, 3, 1}, kSixNumbers)}, 8);
  EXPECT_THAT(DimsOf(outputs[0]), ElementsAre(2, 1));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(6, 160));
  EXPECT_THAT(DimsOf(outputs[1]), ElementsAre(2, 3, 1));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(1, 3, 6, 110, 130, 160));
}

TEST_F(ScanTest, OfOpset8RunsBackwardsFromTheEndOfEachBatch) {
  const auto outputs = Run(Batches("lengths", "directions = [1], "),
                           {Int64s({2}, {2, 3}), Floats({2, 1}, {0, 0}), Floats({2, 3, 1}, kSixNumbers)}, 8);
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(2, 3, 0, 30, 50, 60));
}

TEST_F(ScanTest, OfOpset8IsZeroBehindTheLengthOfABatch) {
  const auto outputs =
      Run(Batches("lengths"), {Int64s({2}, {1, 2}), Floats({2, 1}, {0, 0}), Floats({2, 3, 1}, kSixNumbers)}, 8);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 30));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(1, 0, 0, 10, 30, 0));
}

TEST_F(ScanTest, OfOpset8IsZeroWhereABatchHasNoStep) {
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{0, 2}, {0, 0}}) {
    const auto outputs =
        Run(Batches("lengths"), {Int64s({2}, lengths), Floats({2, 1}, {5, 0}), Floats({2, 3, 1}, kSixNumbers)}, 8);
    const bool has_steps = lengths[1] != 0;
    EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(5, has_steps ? 30 : 0));
    EXPECT_THAT(DimsOf(outputs[1]), ElementsAre(2, 3, 1));
    EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(0, 0, 0, has_steps ? 10 : 0, has_steps ? 30 : 0, 0));
  }
}

TEST_F(ScanTest, OfOpset8FillsTextUpWithEmptyTexts) {
  const auto outputs =
      Run(R"(g (int64[] lengths, string[B, T, 1] x) => (string[] y) {
    y = Scan (lengths, x) <num_scan_inputs = 1, body = step (string[1] a) => (string[1] b) { b = Identity(a) }> })",
          {Int64s({2}, {1, 0}), Value::Strings(std::vector<int64_t>{2, 2, 1}, {"a", "b", "c", "d"})}, 8);
  ASSERT_THAT(DimsOf(outputs[0]), ElementsAre(2, 2, 1));
  EXPECT_EQ(outputs[0]->string_at(0), "a");
  for (uint64_t i = 1; i < 4; ++i) EXPECT_EQ(outputs[0]->string_at(i), "") << i;
}

TEST_F(ScanTest, OfOpset8TakesNoBatchesAtAll) {
  const auto outputs = Run(Batches(""), {Floats({0, 1}, {}), Floats({0, 3, 1}, {})}, 8);
  EXPECT_THAT(DimsOf(outputs[0]), ElementsAre(0, 1));
  EXPECT_THAT(DimsOf(outputs[1]), ElementsAre(0, 3, 1));
}

TEST_F(ScanTest, OfOpset8TakesSequencesWithoutElements) {
  const auto outputs = Run(Batches(""), {Floats({2, 1}, {3, 4}), Floats({2, 0, 1}, {})}, 8);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(3, 4));
  EXPECT_THAT(DimsOf(outputs[1]), ElementsAre(2, 0, 1));
  EXPECT_THAT(FloatsOf(*outputs[1]), IsEmpty());
}

TEST_F(ScanTest, OfOpset8RefusesWhatDoesNotFitTogether) {
  const ValuePtr start = Floats({2, 1}, {0, 0});
  const ValuePtr x = Floats({2, 3, 1}, kSixNumbers);
  EXPECT_THAT(Refusal(Batches("lengths"), {Int64s({2}, {1, 4}), start, x}, 8),
              HasSubstr("sequence length 4 is outside 0 to 3"));
  EXPECT_THAT(Refusal(Batches("lengths"), {Int64s({2}, {-1, 3}), start, x}, 8),
              HasSubstr("sequence length -1 is outside 0 to 3"));
  EXPECT_THAT(Refusal(Batches("lengths"), {Int64s({3}, {1, 1, 1}), start, x}, 8),
              HasSubstr("sequence_lens must be 2 int64"));
  const std::string of_any_shape = R"(g (float[] start, float[] x, float[] y) => (float[] last) {
    last = Scan (absent, start, x, y) <num_scan_inputs = 2,
      body = step (float[] s, float[] a, float[] b) => (float[] t) { t = Sum(s, a, b) }> })";
  EXPECT_EQ(Refusal(of_any_shape, {start, x, x}, 8), "OK");
  EXPECT_THAT(Refusal(of_any_shape, {start, x, Floats({2, 2, 1}, {1, 2, 3, 4})}, 8),
              HasSubstr("inputs disagree about the batch or sequence size"));
  EXPECT_THAT(Refusal(of_any_shape, {Floats({3, 1}, {0, 0, 0}), x, x}, 8),
              HasSubstr("inputs disagree about the batch or sequence size"));
  EXPECT_THAT(Refusal(of_any_shape, {start, x, Floats({2}, {1, 2})}, 8),
              HasSubstr("scan input 1 must be a tensor of rank 2 or more"));
  EXPECT_THAT(Refusal(of_any_shape, {Floats({}, {1}), x, x}, 8),
              HasSubstr("state 0 must be a tensor of rank 1 or more"));
}

}  // namespace
}  // namespace epiphyte::test
