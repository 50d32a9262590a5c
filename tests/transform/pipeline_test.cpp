// The pipeline: levels, names, rounds, nested graphs, cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kTwoSteps = R"(
  in    x: float[2,3]
  a:float[2,3] = Identity(x)
  s = Shape(a)
  b:float[2,3] = Reshape(a, s)
  c:float[2,3] = Relu(b)
  d:float[2,3] = Relu(x)
  y:float[2,3] = Add(c, d)
  out y
)";

TEST(TransformPipeline, RunsUntilNothingChanges) {
  auto graph = ParseGraph(kTwoSteps);
  const auto changed = TransformPipeline::Default().Run(*graph, TransformLevel::kBasic, {});
  EXPECT_EQ(Print(*graph), "c = Relu(x)\ny = Add(c, c)\n");
  EXPECT_THAT(changed, Contains("RemoveIdentity"));
  EXPECT_THAT(changed, Contains("MergeCommonSubexpressions"));
  EXPECT_THAT(changed, Not(Contains("MergeCasts")));
  EXPECT_THAT(TransformPipeline::Default().Run(*graph, TransformLevel::kBasic, {}), IsEmpty());
}

TEST(TransformPipeline, LevelNoneDoesNothing) {
  auto graph = ParseGraph(kTwoSteps);
  const std::string before = Print(*graph);
  EXPECT_THAT(TransformPipeline::Default().Run(*graph, TransformLevel::kNone, {}), IsEmpty());
  EXPECT_EQ(Print(*graph), before);
}

// Providers claim the model's own operators. Fusing them is the task of the provider that has the fused operator.
TEST(TransformPipeline, LeavesTheModelsOperatorsToProviders) {
  for (const std::string_view text : {R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const p: float[2] = 1
    const k: float[2,1,1] = 2
    const six: float = 6
    const zero: float = 0
    c:float[1,2,4,4] = Conv(x, w)
    n:float[1,2,4,4] = BatchNormalization@15(c, p, p, p, p)
    m:float[1,2,4,4] = Mul(n, k)
    s:float[1,2,4,4] = Add(m, k)
    r:float[1,2,4,4] = Relu(s)
    y:float[1,2,4,4] = Clip(r, zero, six)
    out y
  )",
                                      R"(
    in    x: float[2,3]
    const w: float[3,4] = 1
    const v: float[4,4] = 3
    const b: float[4] = 2
    m:float[2,4] = MatMul(x, w)
    s:float[2,4] = Add(m, b)
    g:float[2,4] = Gemm(s, v)
    y:float[2,4] = Add(g, b)
    out y
  )",
                                      R"(
    in    x: float[2,4]
    const half: float = 0.5
    const one: float = 1
    const root2: float = 1.4142135
    const two: float = 2
    const epsilon: float = 0.001
    const scale: float[4] = 1 2 3 4
    a:float[2,4] = Div(x, root2)
    e:float[2,4] = Erf(a)
    f:float[2,4] = Add(e, one)
    p:float[2,4] = Mul(x, f)
    g:float[2,4] = Mul(p, half)
    mean:float[2,1] = ReduceMean<axes=[-1]>(g)
    d:float[2,4] = Sub(g, mean)
    q:float[2,4] = Pow(d, two)
    v:float[2,1] = ReduceMean<axes=[-1]>(q)
    u:float[2,1] = Add(v, epsilon)
    t:float[2,1] = Sqrt(u)
    n:float[2,4] = Div(d, t)
    z:float[2,4] = Mul(n, scale)
    y:float[2,4] = Add(z, scale)
    out y
  )"}) {
    auto graph = ParseGraph(text);
    const std::string before = Print(*graph);
    EXPECT_THAT(TransformPipeline::Default().Run(*graph, TransformLevel::kExtended, {}), IsEmpty());
    EXPECT_EQ(Print(*graph), before);
  }
}

TEST(TransformPipeline, DisabledOnesAreSkipped) {
  auto graph = ParseGraph(kTwoSteps);
  TransformPipeline pipeline = TransformPipeline::Default();
  pipeline.Disable({"RemoveIdentity", "MergeCommonSubexpressions"});
  pipeline.Run(*graph, TransformLevel::kExtended, {});
  EXPECT_THAT(Print(*graph), HasSubstr("Identity"));
  EXPECT_THAT(Print(*graph), HasSubstr("d = Relu(x)"));
}

TEST(TransformPipeline, UnknownNameIsAnErrorWithSuggestions) {
  TransformPipeline pipeline = TransformPipeline::Default();
  try {
    pipeline.Disable({"RemoveIdentitty"});
    FAIL() << "there is no such transform";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(error.message(), HasSubstr("did you mean 'RemoveIdentity'?"));
  }
}

TEST(TransformPipeline, NamesThatWereTransformsOnceMayBeLeftOutStill) {
  TransformPipeline pipeline = TransformPipeline::Default();
  pipeline.Disable({"FuseConvBatchNormalization", "RecognizeGelu"});
  EXPECT_THAT(pipeline.names(), Not(Contains("RecognizeGelu")));
}

TEST(TransformPipeline, NamesAreUnique) {
  const std::vector<std::string> names = TransformPipeline::Default().names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_GE(names.size(), 16u);
}

TEST(TransformPipeline, NestedGraphsAreTransformedToo) {
  auto graph = ParseGraph(R"(
    in  c: bool
    in  x: float[2]
    dead = Relu(x)
    out y
  )");
  auto body = std::make_unique<Graph>("body");
  body->SetOpset("", 21);
  ValueDef* dead = body->AddOuterScope(graph->FindValue("dead"));
  ValueDef* x = body->AddOuterScope(graph->FindValue("x"));
  ValueDef* same = body->AddValue("same");
  ValueDef* inner = body->AddValue("inner");
  body->AddNode("Neg", "", 13, {dead}, {body->AddValue("unused")});
  body->AddNode("Identity", "", 13, {x}, {same});
  body->AddNode("Relu", "", 14, {same}, {inner});
  body->SetOutputs({inner});
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
  const Node* node =
      graph->AddNode("If", "", 13, {graph->FindValue("c")}, {graph->FindValue("y")}, std::move(attributes));
  TransformPipeline::Default().Run(*graph, TransformLevel::kBasic, {});
  EXPECT_EQ(Print(*node->subgraphs()[0]), "inner = Relu(x)\n");
  EXPECT_EQ(Print(*graph), "y = If<then_branch={body}>(c)\n") << "what only the dead part of the body read is gone";
}

// Two rules that undo each other must not hang the pipeline.
class Swap final : public RewriteRule {
 public:
  Swap(std::string_view from, std::string_view to, TransformLevel level = TransformLevel::kBasic)
      : from_(from), to_(to), level_(level) {}
  std::string_view name() const override { return from_; }
  TransformLevel level() const override { return level_; }
  std::vector<std::string_view> operators() const override { return {from_}; }
  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    ValueDef* output = node.output(0);
    ValueDef* input = node.input(0);
    graph.RemoveNode(&node);
    graph.AddNode(to_, "", 13, {input}, {output});
    return true;
  }

 private:
  std::string_view from_;
  std::string_view to_;
  TransformLevel level_;
};

TEST(TransformPipeline, ExtendedRulesNeedTheExtendedLevel) {
  auto graph = ParseGraph("in x: float[2]\ny = Abs(x)\nout y");
  TransformPipeline pipeline;
  pipeline.Add(std::make_unique<Swap>("Abs", "Neg", TransformLevel::kExtended));
  pipeline.Run(*graph, TransformLevel::kBasic, {});
  EXPECT_EQ(Print(*graph), "y = Abs(x)\n");
  pipeline.Run(*graph, TransformLevel::kExtended, {});
  EXPECT_EQ(Print(*graph), "y = Neg(x)\n");
}

TEST(TransformPipeline, RulesThatUndoEachOtherCannotHang) {
  auto graph = ParseGraph(R"(
    in  x: float[2]
    y = Abs(x)
    out y
  )");
  TransformPipeline pipeline;
  pipeline.Add(std::make_unique<Swap>("Abs", "Neg"));
  pipeline.Add(std::make_unique<Swap>("Neg", "Abs"));
  pipeline.Run(*graph, TransformLevel::kBasic, {});
  EXPECT_EQ(graph->node_count(), 1u);
}

TEST(TransformPipeline, AHundredThousandNodesTakeNoTime) {
  Graph graph("long");
  graph.SetOpset("", 17);
  ValueDef* value = graph.AddInput("x", Type::Tensor(DataType::kFloat, Shape{Dim(4)}));
  for (int i = 0; i < 100000; ++i) {
    ValueDef* next = graph.AddValue("v" + std::to_string(i), value->type());
    graph.AddNode(i % 3 == 0 ? "Identity" : i % 3 == 1 ? "Relu" : "Neg", "", 13, {value}, {next});
    value = next;
  }
  graph.SetOutputs({value});
  TransformPipeline::Default().Run(graph, TransformLevel::kExtended, {});
  EXPECT_EQ(graph.node_count(), 66666u);
  EXPECT_EQ(graph.outputs()[0]->name(), "v99999");
}

}  // namespace
}  // namespace epiphyte::test
