// Values known before the run: folding, shapes, shared constants, common subexpressions, dead nodes.
#include <gtest/gtest.h>

#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;

// Adds float tensors of one shape, and counts its calls.
struct AddEvaluator {
  int asked = 0;

  TransformContext Context() {
    TransformContext context;
    context.evaluate = [this](const Node& node, std::vector<ConstantPtr>* outputs) {
      ++asked;
      if (!node.Is("Add")) return false;
      const Constant& a = *node.input(0)->ResolvedConstant();
      const Constant& b = *node.input(1)->ResolvedConstant();
      std::vector<float> sum(a.element_count());
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] = static_cast<const float*>(a.data())[i] + static_cast<const float*>(b.data())[i];
      }
      outputs->push_back(Constant::Copy(DataType::kFloat, a.dims(), sum.data(), sum.size() * sizeof(float)));
      return true;
    };
    return context;
  }
};

TEST(FoldConstants, ComputesWhatDependsOnConstantsOnly) {
  AddEvaluator evaluator;
  const Transformed result = Apply(MakeFoldConstants(), R"(
    in    x: float[2]
    const a: float[2] = 1 2
    const b: float[2] = 10 20
    c:float[2] = Add(a, b)
    d:float[2] = Add(c, c)
    y:float[2] = Mul(x, d)
    out y
  )",
                                   evaluator.Context());
  EXPECT_EQ(result.text, "y = Mul(x, d)\n");
  EXPECT_EQ(result.Constant("d"), "22 44");
}

TEST(FoldConstants, ConstantNodesBecomeConstantsWithoutAnEvaluator) {
  const Transformed result = Apply(MakeFoldConstants(), R"(
    in  x: float[2]
    a = Constant<value_floats=[1.5,2.5]>()
    b = Constant<value_int=7>()
    y = Op(x, a, b)
    out y
  )");
  EXPECT_EQ(result.text, "y = Op(x, a, b)\n");
  EXPECT_EQ(result.Constant("a"), "1.5 2.5");
  EXPECT_EQ(result.Constant("b"), "7");
  EXPECT_EQ(result.graph->FindValue("b")->type()->ToString(), "tensor(int64)[]");
}

TEST(FoldConstants, GraphOutputsAreLeftToNodes) {
  AddEvaluator evaluator;
  EXPECT_FALSE(Apply(MakeFoldConstants(), R"(
    const a: float[2] = 1 2
    y:float[2] = Add(a, a)
    z = Constant<value_float=1.0>()
    out y, z
  )",
                     evaluator.Context())
                   .changed);
}

TEST(FoldConstants, NeverTouchesRandomOrQuantizedOnes) {
  AddEvaluator evaluator;
  EXPECT_FALSE(Apply(MakeFoldConstants(), R"(
    in    x: float[2]
    const a: float[2] = 1 2
    const q: int8[2] = 1 2
    r = RandomNormalLike(a)
    b = Bernoulli(a)
    n = RandomNormal<shape=[2]>()
    w = DequantizeLinear(q, a)
    v = vendor::Add(a, a)
    y = Op(x, r, b, n, w, v)
    out y
  )",
                     evaluator.Context())
                   .changed);
  EXPECT_EQ(evaluator.asked, 0);
}

TEST(FoldConstants, KeepsWithinTheLimitOfBytes) {
  AddEvaluator evaluator;
  TransformContext context = evaluator.Context();
  context.folded_bytes_limit = 12;
  const std::string_view text = R"(
    in    x: float[4]
    const a: float[4] = 1 2 3 4
    declared:float[4] = Add(a, a)
    undeclared = Add(a, a)
    y = Op(x, declared, undeclared)
    out y
  )";
  EXPECT_FALSE(Apply(MakeFoldConstants(), text, context).changed);
  EXPECT_EQ(evaluator.asked, 1) << "a size that is known beforehand isn't even computed";
  context.folded_bytes_limit = 16;
  EXPECT_TRUE(Apply(MakeFoldConstants(), text, context).changed);
}

TEST(FoldConstants, ChecksTheResultsOfTheEvaluator) {
  const std::string_view text = R"(
    in    x: float[2]
    const a: float[2] = 1 2
    b:int64[2] = Add(a, a)
    y = Op(x, b)
    out y
  )";
  AddEvaluator evaluator;
  EXPECT_FALSE(Apply(MakeFoldConstants(), text, evaluator.Context()).changed) << "float is not the declared int64";
  TransformContext context;
  context.evaluate = [](const Node&, std::vector<ConstantPtr>*) { return true; };
  EXPECT_FALSE(Apply(MakeFoldConstants(), text, context).changed) << "no outputs";
  context.evaluate = [](const Node&, std::vector<ConstantPtr>* outputs) {
    outputs->push_back(nullptr);
    return true;
  };
  EXPECT_FALSE(Apply(MakeFoldConstants(), text, context).changed) << "null";
}

TEST(FoldConstants, SeesConstantsOfEnclosingGraphs) {
  auto graph = ParseGraph(R"(
    in    c: bool
    in    x: float[2]
    const w: float[2] = 1 2
    out   y
  )");
  auto body = std::make_unique<Graph>("body");
  ValueDef* w = body->AddOuterScope(graph->FindValue("w"));
  ValueDef* sum = body->AddValue("sum");
  ValueDef* inner = body->AddValue("inner");
  body->AddNode("Add", "", 14, {w, w}, {sum});
  body->AddNode("Mul", "", 14, {sum, body->AddOuterScope(graph->FindValue("x"))}, {inner});
  body->SetOutputs({inner});
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
  Node* node = graph->AddNode("If", "", 13, {graph->FindValue("c")}, {graph->FindValue("y")}, std::move(attributes));
  AddEvaluator evaluator;
  const Transformed result = Apply(MakeFoldConstants(), std::move(graph), evaluator.Context());
  EXPECT_EQ(Print(*node->subgraphs()[0]), "inner = Mul(sum, x)\n");
  EXPECT_EQ(node->implicit_inputs().size(), 1u);
  EXPECT_EQ(result.graph->FindValue("w"), nullptr);
}

TEST(FoldShape, KnownShapesAndSizesAreConstants) {
  const Transformed result = Apply(MakeFoldShape(), R"(
    in  x: float[2,3,4]
    a = Shape(x)
    b = Shape@15<start=1, end=-1>(x)
    c = Size(x)
    y = Op(a, b, c)
    out y
  )");
  EXPECT_EQ(result.text, "y = Op(a, b, c)\n");
  EXPECT_EQ(result.Constant("a"), "2 3 4");
  EXPECT_EQ(result.Constant("b"), "3");
  EXPECT_EQ(result.Constant("c"), "24");
}

TEST(FoldShape, ThePartThatIsAskedForIsEnough) {
  const Transformed result = Apply(MakeFoldShape(), R"(
    in  x: float[n,3,4]
    a = Shape@15<start=1>(x)
    b = Shape(x)
    c = Size(x)
    y = Op(a, b, c)
    out y
  )");
  EXPECT_EQ(result.text, "b = Shape(x)\nc = Size(x)\ny = Op(a, b, c)\n");
  EXPECT_EQ(result.Constant("a"), "3 4");
}

TEST(FoldPartOfShape, GatherAndSliceOfKnownDimensions) {
  const Transformed result = Apply(MakeFoldPartOfShape(), R"(
    in    x: float[n,3,4]
    const last: int64 = -1
    const first: int64 = 0
    const one: int64[1] = 1
    const end: int64[1] = 99
    const axis: int64[1] = 0
    s = Shape(x)
    a = Gather(s, last)
    b = Gather(s, first)
    c = Slice(s, one, end, axis)
    y = Op(a, b, c)
    out y
  )");
  EXPECT_EQ(result.text, "s = Shape(x)\nb = Gather(s, first)\ny = Op(a, b, c)\n");
  EXPECT_EQ(result.Constant("a"), "4");
  EXPECT_EQ(result.graph->FindValue("a")->type()->ToString(), "tensor(int64)[]");
  EXPECT_EQ(result.Constant("c"), "3 4");
}

TEST(FoldPartOfShape, StaysForBadIndicesAndBackwardSteps) {
  EXPECT_FALSE(Apply(MakeFoldPartOfShape(), R"(
    in    x: float[2,3]
    const far: int64 = 7
    const zero: int64[1] = 0
    const end: int64[1] = 2
    const back: int64[1] = -1
    s = Shape(x)
    a = Gather(s, far)
    b = Slice(s, zero, end, zero, back)
    y = Op(a, b)
    out y
  )")
                   .changed);
}

TEST(ShareConstants, EqualSmallOnesBecomeOne) {
  EXPECT_EQ(Apply(MakeShareConstants(), R"(
    in    x: float[2]
    const a: float[2] = 1 2
    const b: float[2] = 1 2
    const other_shape: float[1,2] = 1 2
    const other_type: int32[2] = 1 2
    const kept: float[2] = 1 2
    y = Op(x, a, b, other_shape, other_type)
    out y, kept
  )")
                .text,
            "y = Op(x, a, a, other_shape, other_type)\n");
}

TEST(ShareConstants, LargeOnesOnlyWithTheSameMemory) {
  auto graph = ParseGraph(R"(
    in    x: float[2]
    const a: float[1000] = 1
    const b: float[1000] = 1
    y = Op(x, a, b, c)
    out y
  )");
  graph->SetConstant(graph->FindValue("c"), graph->FindValue("a")->constant());
  EXPECT_EQ(Apply(MakeShareConstants(), std::move(graph)).text, "y = Op(x, a, b, a)\n");
}

TEST(MergeCommonSubexpressions, SameWorkIsDoneOnce) {
  EXPECT_EQ(Apply(MakeMergeCommonSubexpressions(), R"(
    in  x: float[2]
    a = Relu(x)
    b = Relu(x)
    c = Softmax<axis=1>(a)
    d = Softmax<axis=1>(b)
    e = Softmax<axis=0>(b)
    y = Op(c, d, e)
    out y
  )")
                .text,
            "a = Relu(x)\nc = Softmax<axis=1>(a)\ne = Softmax<axis=0>(a)\ny = Op(c, c, e)\n");
}

// If two operators read a dequantized value, it belongs to the QDQ unit of neither.
TEST(MergeCommonSubexpressions, LeavesEachOperatorItsOwnDequantizeLinear) {
  const std::string_view text = R"(
    in    q: int8[2]
    const scale: float[] = 0.5
    a:float[2] = DequantizeLinear(q, scale)
    b:float[2] = DequantizeLinear(q, scale)
    c:float[2] = Relu(a)
    d:float[2] = Neg(b)
    y = QuantizeLinear(c, scale)
    z = QuantizeLinear(d, scale)
    out y, z
  )";
  EXPECT_FALSE(Apply(MakeMergeCommonSubexpressions(), text).changed);
}

TEST(MergeCommonSubexpressions, StaysForRandomOnesOutputsAndOtherDomains) {
  EXPECT_FALSE(Apply(MakeMergeCommonSubexpressions(), R"(
    in  x: float[2]
    a = RandomNormalLike(x)
    b = RandomNormalLike(x)
    c = vendor::Stateful(x)
    d = vendor::Stateful(x)
    e, f = Split(x)
    g, _ = Split(x)
    h = Neg(x)
    i = Neg(x)
    y = Op(a, b, c, d, e, f, g)
    out y, h, i
  )")
                   .changed);
}

TEST(RemoveDeadNodes, RemovesWholeDeadBranchesAndTheirConstants) {
  const Transformed result = Apply(MakeRemoveDeadNodes(), R"(
    in    x: float[2]
    const w: float[2] = 1 2
    a = Mul(x, w)
    b = Relu(a)
    c, d = Split(x)
    y = Neg(d)
    out y
  )");
  EXPECT_EQ(result.text, "c, d = Split(x)\ny = Neg(d)\n");
  EXPECT_EQ(result.graph->FindValue("w"), nullptr);
  EXPECT_NE(result.graph->FindValue("x"), nullptr);
}

TEST(RemoveDeadNodes, KeepsContextNodes) {
  EXPECT_FALSE(Apply(MakeRemoveDeadNodes(), R"(
    in  x: float[2]
    a = com.microsoft::EPContext(x)
    y = Neg(x)
    out y
  )")
                   .changed);
}

}  // namespace
}  // namespace epiphyte::test
