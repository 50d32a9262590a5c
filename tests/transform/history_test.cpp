// Records of nodes that transforms remove from a graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Returns lines "name: reason" for the nodes that were removed.
std::vector<std::string> Told(Graph& graph, TransformPipeline pipeline = TransformPipeline::Default(),
                              NodeEvaluator evaluate = {}) {
  NodeHistory history;
  TransformContext context;
  context.history = &history;
  context.evaluate = std::move(evaluate);
  pipeline.Run(graph, TransformLevel::kExtended, context);
  std::vector<std::string> told;
  for (const RemovedNode& node : history.Take()) {
    told.push_back((node.graph.empty() ? "" : node.graph + "/") + node.name + ": " + node.Describe());
  }
  return told;
}

std::vector<std::string> Told(std::string_view text, NodeEvaluator evaluate = {}) {
  return Told(*ParseGraph(text), TransformPipeline::Default(), std::move(evaluate));
}

TEST(NodeHistory, EachRemovedNodeIsReportedWithItsReason) {
  EXPECT_THAT(Told(R"(
    in    x: float[2,3]
    same:float[2,3] = Identity(x)
    shape:int64[2] = Shape(same)
    back:float[2,3] = Reshape(same, shape)
    first:float[2,3] = Relu(back)
    twin:float[2,3] = Relu(x)
    unused:float[2,3] = Neg(x)
    y:float[2,3] = Add(first, twin)
    out y
  )"),
              UnorderedElementsAre("same: bypassed: gives its input 'x' on", "shape: folded into constant 'shape'",
                                   "back: bypassed: gives its input 'x' on", "twin: merged with node 'first'",
                                   "unused: dead: no output depends on it"));
}

TEST(NodeHistory, ANodeWhoseWorkTheNextOneDoesIsMergedNotDead) {
  EXPECT_THAT(Told(R"(
    in    x: float16[2]
    a:float[2] = Cast<to=1>(x)
    y:int64[2] = Cast<to=7>(a)
    out y
  )"),
              ElementsAre("a: merged with node 'y'"));
}

TEST(NodeHistory, WhatIsComputedNowIsFolded) {
  const auto evaluate = [](const Node&, std::vector<ConstantPtr>* outputs) {
    const float two = 2;
    outputs->push_back(Constant::Copy(DataType::kFloat, {}, &two, sizeof two));
    return true;
  };
  EXPECT_THAT(Told(R"(
    in    x: float
    const one: float = 1
    two:float = Add(one, one)
    y:float = Mul(x, two)
    out y
  )",
                   evaluate),
              ElementsAre("two: folded into constant 'two'"));
}

TEST(NodeHistory, NodesOfNestedGraphsHaveAPathAndGoWithTheirHolder) {
  auto graph = ParseGraph(R"(
    in  c: bool
    in  x: float[2]
    out y
  )");
  const auto add_if = [&](const std::string& name) {
    auto body = std::make_unique<Graph>("body");
    body->SetOpset("", 21);
    ValueDef* x = body->AddOuterScope(graph->FindValue("x"));
    ValueDef* same = body->AddValue("same_" + name);
    ValueDef* inner = body->AddValue("inner_" + name);
    body->AddNode("Identity", "", 13, {x}, {same}, {}, "identity");
    body->AddNode("Relu", "", 14, {same}, {inner}, {}, "relu");
    body->SetOutputs({inner});
    std::vector<Attribute> attributes;
    attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
    ValueDef* output = graph->FindValue(name);
    if (output == nullptr) output = graph->AddValue(name);
    graph->AddNode("If", "", 13, {graph->FindValue("c")}, {output}, std::move(attributes), "if_" + name);
  };
  add_if("y");
  add_if("unused");
  EXPECT_THAT(Told(*graph), UnorderedElementsAre("if_unused: dead: no output depends on it",
                                                 "if_unused/then_branch/identity: dead: no output depends on it",
                                                 "if_unused/then_branch/relu: dead: no output depends on it",
                                                 "if_y/then_branch/identity: bypassed: gives its input 'x' on"));
}

// A rule that reports no history, as an application's rules may.
class DropNegations final : public RewriteRule {
 public:
  std::string_view name() const override { return "DropNegations"; }
  TransformLevel level() const override { return TransformLevel::kBasic; }
  std::vector<std::string_view> operators() const override { return {"Neg"}; }
  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    ValueDef* output = node.output(0);
    ValueDef* input = node.input(0);
    graph.RemoveNode(&node);
    graph.ReplaceAllUses(output, input);
    graph.RemoveValue(output);
    return true;
  }
};

TEST(NodeHistory, NodeRemovedByARuleWithoutReportIsFound) {
  auto graph = ParseGraph(R"(
    in    x: float[2]
    a = Neg(x)
    b = Identity(a)
    c = Neg(b)
    y = Relu(c)
    out y
  )");
  TransformPipeline pipeline;
  pipeline.Add(MakeRemoveIdentity());
  pipeline.Add(std::make_unique<DropNegations>());
  EXPECT_THAT(Told(*graph, std::move(pipeline)),
              UnorderedElementsAre("a: rewritten by 'DropNegations'", "b: bypassed: gives its input 'a' on",
                                   "c: rewritten by 'DropNegations'"));
  EXPECT_EQ(Print(*graph), "y = Relu(x)\n");
}

TEST(NodeHistory, UnchangedGraphReportsNothing) { EXPECT_THAT(Told("in x: float[2]\ny = Relu(x)\nout y"), IsEmpty()); }

}  // namespace
}  // namespace epiphyte::test
