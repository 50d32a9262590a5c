// Control flow that is decided before the run: the nodes of the chosen body replace it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx/model_reader.h"
#include "tests/framework/onnx_text.h"
#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::unique_ptr<Graph> Read(std::string_view text, int opset = 17) {
  const std::string bytes = OnnxFromText("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
                                         ", \"com.microsoft\" : 1]>\n" + std::string(text));
  return std::move(ReadModelMemory(bytes.data(), bytes.size(), nullptr, {}).graph);
}

// Collects all names of values, nested graphs included. Outer-scope values are counted where they are defined.
void CollectNames(const Graph& graph, std::vector<std::string>* names) {
  for (const auto& value : graph.values())
    if (value != nullptr && !value->IsOuterScope()) names->push_back(value->name());
  for (const auto& node : graph.nodes())
    for (const Graph* body : node->subgraphs()) CollectNames(*body, names);
}

bool HasUniqueNames(const Graph& graph) {
  std::vector<std::string> names;
  CollectNames(graph, &names);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

Transformed Inline(std::string_view text, int opset = 17) { return Apply(MakeInlineIf(), Read(text, opset)); }
Transformed InlineLoops(std::string_view text, int opset = 17) { return Apply(MakeInlineLoop(), Read(text, opset)); }

TEST(InlineIf, TheBranchThatRunsTakesItsPlace) {
  const std::string text = R"(
    g (float[2] x) => (float[2] y) <bool c = {@}> {
      z = If (c) <then_branch = t () => (float[2] p) { q = Neg(x) p = Exp(q) },
                  else_branch = e () => (float[2] p) { p = Abs(x) }>
      y = Relu(z)
    })";
  const auto with = [&](char condition) {
    std::string model = text;
    model[model.find('@')] = condition;
    return Inline(model);
  };
  EXPECT_EQ(with('1').text, "z/q = Neg(x)\nz = Exp(z/q)\ny = Relu(z)\n");
  EXPECT_EQ(with('0').text, "z = Abs(x)\ny = Relu(z)\n");
}

TEST(InlineIf, StaysWhenTheConditionIsNotKnown) {
  EXPECT_FALSE(Inline(R"(
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] p) { p = Abs(x) }>
    })")
                   .changed);
}

TEST(InlineIf, GraphOutputsKeepTheirNames) {
  const Transformed result = Inline(R"(
    g (float[2] x) => (float[2] y, float[2] same, float[2] twin, float[1] w) <bool c = {1}> {
      y, same, twin, w = If (c) <
        then_branch = t () => (float[2] p, float[2] x1, float[2] p2, float[1] k) <float[1] k = {3}> {
          p = Neg(x) x1 = Identity(x) p2 = Identity(p)
        },
        else_branch = e () => (float[2] a, float[2] b, float[2] d, float[1] f) <float[1] f = {3}> {
          a = Neg(x) b = Abs(x) d = Exp(x)
        }>
    })");
  EXPECT_EQ(result.text, "y = Neg(x)\nsame = Identity(x)\ntwin = Identity(y)\nw = Identity(y/k)\n");
  std::vector<std::string> outputs;
  for (const ValueDef* output : result.graph->outputs()) outputs.push_back(output->name());
  EXPECT_THAT(outputs, ElementsAre("y", "same", "twin", "w"));
}

TEST(InlineIf, WhatABranchOnlyHandsOnIsUsedDirectly) {
  EXPECT_EQ(Inline(R"(
    g (float[2] x) => (float[2] y) <bool c = {0}> {
      before = Neg(x)
      a, b = If (c) <then_branch = t () => (float[2] p, float[1] q) { p = Neg(x) q = Constant<value_floats = [1.0]>() },
                     else_branch = e () => (float[2] before, float[1] k) <float[1] k = {3}> {}>
      y = Mul(a, b)
    })")
                .text,
            "before = Neg(x)\ny = Mul(before, a/k)\n");
}

TEST(InlineIf, NestedGraphsOfTheBranchReadWhatTheyRead) {
  const Transformed result = Inline(R"(
    g (bool r, float[2] x) => (float[2] y) <bool c = {1}, float[2] w = {1, 2}> {
      y = If (c) <
        then_branch = t () => (float[2] p) {
          q = Mul(x, w)
          p = If (r) <then_branch = tt () => (float[2] s) { u = Add(q, x) s = Mul(u, w) },
                      else_branch = te () => (float[2] s) { s = Abs(q) }>
        },
        else_branch = e () => (float[2] p) { p = Abs(x) }>
    })");
  EXPECT_EQ(result.text, "y/q = Mul(x, w)\ny = If<else_branch={te}, then_branch={tt}>(r)\n");
  const Node* kept = result.graph->FindValue("y")->producer();
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(Print(*kept->subgraphs()[0]), "u = Add(y/q, x)\ns = Mul(u, w)\n");
  EXPECT_EQ(Print(*kept->subgraphs()[1]), "s = Abs(y/q)\n");
  EXPECT_EQ(kept->implicit_inputs().size(), 3u);
}

TEST(InlineIf, InABodyItReachesOuterGraphs) {
  const Transformed result = Inline(R"(
    g (bool r, float[2] x) => (float[2] y) <bool c = {1}> {
      y = If (r) <
        then_branch = t () => (float[2] p) {
          p = If (c) <then_branch = tt () => (float[2] s) { s = Neg(x) },
                      else_branch = te () => (float[2] s) { s = Abs(x) }>
        },
        else_branch = e () => (float[2] p) { p = Abs(x) }>
    })");
  const Node* kept = result.graph->FindValue("y")->producer();
  EXPECT_EQ(Print(*kept->subgraphs()[0]), "p = Neg(x)\n");
}

TEST(InlineIf, NamesStayUnique) {
  const Transformed result = Inline(R"(
    g (bool r, float[2] x) => (float[2] y) <bool c = {1}> {
      a = If (c) <then_branch = t1 () => (float[2] p) { q = Neg(x) p = Exp(q) },
                  else_branch = e1 () => (float[2] p) { q = Abs(x) p = Exp(q) }>
      b = If (c) <then_branch = t2 () => (float[2] p) { q = Neg(a) p = Exp(q) },
                  else_branch = e2 () => (float[2] p) { q = Abs(a) p = Exp(q) }>
      d = If (r) <then_branch = t3 () => (float[2] p) { q = Neg(b) p = Exp(q) },
                  else_branch = e3 () => (float[2] s) { s = Abs(b) }>
      y = Relu(d)
    })");
  EXPECT_THAT(result.text, HasSubstr("a/q = Neg(x)\na = Exp(a/q)\nb/q = Neg(a)\nb = Exp(b/q)\n"));
  EXPECT_TRUE(HasUniqueNames(*result.graph));
}

TEST(InlineIf, StaysWhereAGraphOutputIsDeclaredAsAnotherType) {
  auto graph = Read(R"(
    g (float[2] x) => (y) <bool c = {1}> {
      y = If (c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] p) { p = Abs(x) }>
    })");
  graph->FindValue("y")->set_type(Type::Tensor(DataType::kInt64, core::Shape{Dim(2)}));
  EXPECT_FALSE(Apply(MakeInlineIf(), std::move(graph)).changed);
}

TEST(InlineIf, StaysWhereItHoldsAnEpContext) {
  EXPECT_FALSE(Inline(R"(
    g (float[2] x) => (float[2] y) <bool c = {1}> {
      y = If (c) <then_branch = t () => (float[2] p) { p = Neg(x) },
                  else_branch = e () => (float[2] p) { p = com.microsoft.EPContext<source = "s", main_context = 0>(x) }>
    })")
                   .changed);
}

constexpr std::string_view kLoopBody = R"(
      final, rows = Loop (trips, cond, x) <
        body = b (int64 i, bool on, float[2] s) => (bool go_on, float[2] next, float[2] row) {
          f = Cast<to = 1>(i)
          next = Add(s, f)
          row = Mul(next, w)
          go_on = Identity(on)
        }>
      y = Relu(final)
      z = Relu(rows)
    })";

TEST(InlineLoop, OneRoundIsTheBodyOnce) {
  const Transformed result = InlineLoops(R"(
    g (float[2] x) => (float[2] y, float[1, 2] z) <int64 trips = {1}, bool cond = {1}, float[2] w = {1, 2}> {)" +
                                         std::string(kLoopBody));
  EXPECT_EQ(result.text,
            "final/f = Cast<to=1>(iteration)\nfinal = Add(x, final/f)\ny = Relu(final)\n"
            "final/row = Mul(final, w)\nrows = Unsqueeze(final/row, rows/axes)\nz = Relu(rows)\n");
  EXPECT_EQ(result.Constant("iteration"), "0");
  EXPECT_EQ(result.Constant("rows/axes"), "0");
}

TEST(InlineLoop, EarlyOpsetsHaveTheAxesAsAttribute) {
  const Transformed result = InlineLoops(R"(
    g (float[2] x) => (float[2] y, float[1, 2] z) <int64 trips = {1}, bool cond = {1}, float[2] w = {1, 2}> {)" +
                                             std::string(kLoopBody),
                                         11);
  EXPECT_THAT(result.text, HasSubstr("rows = Unsqueeze<axes=[0]>(final/row)\n"));
}

TEST(InlineLoop, NoRoundHandsTheStateOnAndStacksNothing) {
  for (const std::string_view constants : {"<int64 trips = {0}, bool cond = {1}, float[2] w = {1, 2}>",
                                           "<int64 trips = {9}, bool cond = {0}, float[2] w = {1, 2}>"}) {
    const Transformed result = InlineLoops("g (float[2] x) => (float[2] y, float[N, 2] z) " + std::string(constants) +
                                           " {" + std::string(kLoopBody));
    EXPECT_EQ(result.text, "y = Relu(x)\nz = Relu(rows)\n");
    EXPECT_EQ(result.graph->FindValue("rows")->type()->ToString(), "tensor(float)[0,2]");
  }
}

TEST(InlineLoop, ABodyThatNeverGoesOnRunsOnce) {
  EXPECT_EQ(InlineLoops(R"(
    g (float[2] x) => (float[2] y) <int64 trips = {100}, bool cond = {1}> {
      y = Loop (trips, cond, x) <
        body = b (int64 i, bool on, float[2] s) => (bool stop, float[2] next) <bool stop = {0}> { next = Neg(s) }>
    })")
                .text,
            "y = Neg(x)\n");
}

TEST(InlineLoop, StaysWhenTheRoundsAreManyOrNotKnown) {
  EXPECT_FALSE(InlineLoops("g (float[2] x) => (float[2] y, float[M, 2] z) <int64 trips = {2}, bool cond = {1}, "
                           "float[2] w = {1, 2}> {" +
                           std::string(kLoopBody))
                   .changed);
  EXPECT_FALSE(InlineLoops("g (float[2] x, int64 trips) => (float[2] y, float[M, 2] z) <bool cond = {1}, "
                           "float[2] w = {1, 2}> {" +
                           std::string(kLoopBody))
                   .changed);
  EXPECT_FALSE(InlineLoops("g (float[2] x, bool cond) => (float[2] y, float[M, 2] z) <int64 trips = {1}, "
                           "float[2] w = {1, 2}> {" +
                           std::string(kLoopBody))
                   .changed);
}

TEST(InlineLoop, TheReportSaysWhichNodesWentAndWhy) {
  NodeHistory history;
  TransformContext context;
  context.history = &history;
  auto graph = Read(R"(
    g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}, int64 none = {0}> {
      a = If (c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
      y = Loop (none, absent, x) <
        body = b (int64 i, bool on, float[2] s) => (bool go_on, float[2] n) { n = Neg(s) go_on = Identity(on) }>
      z = Relu(a)
    })");
  TransformPipeline::Default().Run(*graph, TransformLevel::kExtended, context);
  std::vector<std::string> told;
  for (const RemovedNode& node : history.Take()) {
    told.push_back(node.graph + " " + node.op_type + ": " + std::string(RemovalReasonName(node.reason)) + "; " +
                   node.Describe());
  }
  EXPECT_THAT(told,
              UnorderedElementsAre(" If: decided; decided before the run: the nodes of 'then_branch' took its place",
                                   "if_0/else_branch Abs: untaken; untaken: 'a' never runs it",
                                   " Loop: decided; decided before the run: its body never runs",
                                   "loop_1/body Neg: untaken; untaken: 'y' never runs it",
                                   "loop_1/body Identity: untaken; untaken: 'y' never runs it"));
}

}  // namespace
}  // namespace epiphyte::test
