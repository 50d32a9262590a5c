// Nodes that pass their input on unchanged are removed, and no others.
#include <gtest/gtest.h>

#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;

TEST(RemoveIdentity, LeadsUsesToTheInput) {
  EXPECT_EQ(Apply(MakeRemoveIdentity(), R"(
    in  x: float[2]
    a = Identity(x)
    b = Identity(a)
    y = Add(a, b)
    out y
  )")
                .text,
            "y = Add(x, x)\n");
}

TEST(RemoveIdentity, GraphOutputsKeepTheirNames) {
  const Transformed result = Apply(MakeRemoveIdentity(), R"(
    in  x: float[2]
    a = Relu(x)
    b = Neg(a)
    y = Identity(a)
    out y, b
  )");
  EXPECT_EQ(result.text, "y = Relu(x)\nb = Neg(y)\n");
  EXPECT_EQ(result.graph->outputs()[0]->name(), "y");
}

TEST(RemoveIdentity, StaysBetweenInputAndOutput) {
  EXPECT_FALSE(Apply(MakeRemoveIdentity(), R"(
    in    x: float[2]
    const w: float[2] = 1 2
    y = Identity(x)
    z = Identity(w)
    out y, z
  )")
                   .changed);
}

TEST(RemoveIdentity, StaysBetweenTwoOutputs) {
  EXPECT_FALSE(Apply(MakeRemoveIdentity(), R"(
    in  x: float[2]
    a = Relu(x)
    y = Identity(a)
    out a, y
  )")
                   .changed);
}

TEST(RemoveIdentity, TakesVariadicOperatorsOfOneInput) {
  EXPECT_EQ(Apply(MakeRemoveIdentity(), R"(
    in  x: float[2]
    a = Concat<axis=0>(x)
    b = Max(a)
    c = Sum(b, b)
    y = Relu(c)
    out y
  )")
                .text,
            "c = Sum(x, x)\ny = Relu(c)\n");
}

TEST(RemoveIdentity, OtherDomainsAreNotTouched) {
  EXPECT_FALSE(Apply(MakeRemoveIdentity(), R"(
    in  x: float[2]
    a = vendor::Identity(x)
    y = Relu(a)
    out y
  )")
                   .changed);
}

TEST(RemoveIdentity, BodiesReadTheInput) {
  auto graph = ParseGraph(R"(
    in  c: bool
    in  x: float[2]
    a = Identity(x)
    out y
  )");
  auto body = std::make_unique<Graph>("body");
  ValueDef* inner = body->AddValue("inner");
  body->AddNode("Relu", "", 14, {body->AddOuterScope(graph->FindValue("a"))}, {inner});
  body->SetOutputs({inner});
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
  Node* node = graph->AddNode("If", "", 13, {graph->FindValue("c")}, {graph->FindValue("y")}, std::move(attributes));
  const Transformed result = Apply(MakeRemoveIdentity(), std::move(graph));
  EXPECT_EQ(result.text, "y = If<then_branch={body}>(c)\n");
  EXPECT_EQ(Print(*node->subgraphs()[0]), "inner = Relu(x)\n");
  EXPECT_EQ(node->implicit_inputs().size(), 1u);
}

TEST(RemoveIdentity, RemovesAHundredThousandInARow) {
  auto graph = std::make_unique<Graph>("long");
  ValueDef* value = graph->AddInput("x", Type::Tensor(DataType::kFloat));
  for (int i = 0; i < 100000; ++i) {
    ValueDef* next = graph->AddValue("v" + std::to_string(i));
    graph->AddNode("Identity", "", 13, {value}, {next});
    value = next;
  }
  ValueDef* y = graph->AddValue("y");
  graph->AddNode("Relu", "", 14, {value}, {y});
  graph->SetOutputs({y});
  EXPECT_EQ(Apply(MakeRemoveIdentity(), std::move(graph)).text, "y = Relu(x)\n");
}

TEST(RemoveDropout, GoesWhenItsMaskIsUnused) {
  EXPECT_EQ(Apply(MakeRemoveDropout(), R"(
    in    x: float[2]
    const ratio: float = 0.5
    const training: bool = 0
    a, unused = Dropout(x, ratio, training)
    b, _ = Dropout@7<ratio=0.3>(a)
    y = Relu(b)
    out y
  )")
                .text,
            "y = Relu(x)\n");
}

TEST(RemoveDropout, StaysInTrainingAndForItsMask) {
  EXPECT_FALSE(Apply(MakeRemoveDropout(), R"(
    in    x: float[2]
    in    maybe: bool
    const on: bool = 1
    a, mask = Dropout(x)
    b = Dropout(a, _, on)
    c = Dropout(b, _, maybe)
    y = Relu(c)
    out y, mask
  )")
                   .changed);
}

TEST(RemoveNoOpCast, GoesForTheSameType) {
  EXPECT_EQ(Apply(MakeRemoveNoOpCast(), R"(
    in  x: float[2]
    in  like: float
    a:float[2] = Cast<to=1>(x)
    b:float[2] = CastLike(a, like)
    y = Relu(b)
    out y
  )")
                .text,
            "y = Relu(x)\n");
}

TEST(RemoveNoOpCast, StaysForAnotherOrUnknownType) {
  EXPECT_FALSE(Apply(MakeRemoveNoOpCast(), R"(
    in  x: float[2]
    a = Cast<to=7>(x)
    b = Cast<to=7>(unknown)
    unknown = Mystery(a)
    out b
  )")
                   .changed);
}

TEST(RemoveNoOpShapeChange, GoesWhenTheShapeIsTheSame) {
  EXPECT_EQ(Apply(MakeRemoveNoOpShapeChange(), R"(
    in    x: float[2,3]
    const shape: int64[2] = 2 3
    const repeats: int64[2] = 1 1
    a:float[2,3] = Reshape(x, shape)
    b:float[2,3] = Flatten(a)
    c:float[2,3] = Expand(b, shape)
    d:float[2,3] = Tile(c, repeats)
    e:float[2,3] = Squeeze(d)
    y:float[2,3] = Relu(e)
    out y
  )")
                .text,
            "y = Relu(x)\n");
}

TEST(RemoveNoOpShapeChange, StaysForUnknownSizes) {
  EXPECT_FALSE(Apply(MakeRemoveNoOpShapeChange(), R"(
    in    x: float[n,3]
    in    shape: int64[2]
    a:float[n,3] = Reshape(x, shape)
    b:float[n,3,1] = Unsqueeze(a, shape)
    out b
  )")
                   .changed);
}

TEST(RemoveNoOpMovement, TransposeSliceAndPadThatMoveNothingGo) {
  EXPECT_EQ(Apply(MakeRemoveNoOpMovement(), R"(
    in    x: float[2,3]
    const starts: int64[2] = 0 0
    const ends: int64[2] = 2 99
    const pads: int64[4] = 0
    a:float[2,3] = Transpose<perm=[0,1]>(x)
    b:float[2,3] = Slice(a, starts, ends)
    c:float[2,3] = Pad(b, pads)
    d:float[2,3] = Pad@2<pads=[0,0,0,0]>(c)
    y:float[2,3] = Relu(d)
    out y
  )")
                .text,
            "y = Relu(x)\n");
}

TEST(RemoveNoOpMovement, StaysWhenSomethingMoves) {
  EXPECT_FALSE(Apply(MakeRemoveNoOpMovement(), R"(
    in    x: float[3,3]
    const end: int64[1] = 0
    const far: int64[1] = -99
    const axis: int64[1] = 0
    const back: int64[1] = -1
    const shift: int64[4] = 1 0 -1 0
    a:float[3,3] = Transpose(x)
    b:float[3,3] = Slice(a, end, far, axis, back)
    y:float[3,3] = Pad(b, shift)
    out y
  )")
                   .changed)
      << "the shape stays, the elements don't";
}

TEST(RemoveNeutralArithmetic, AddingZeroAndMultiplyingByOneGo) {
  EXPECT_EQ(Apply(MakeRemoveNeutralArithmetic(), R"(
    in    x: float[2,3]
    const zero: float = 0
    const one: float[1] = 1
    const ones: float[3] = 1
    a:float[2,3] = Add(zero, x)
    b:float[2,3] = Sub(a, zero)
    c:float[2,3] = Mul(b, one)
    d:float[2,3] = Div(c, ones)
    y:float[2,3] = Relu(d)
    out y
  )")
                .text,
            "y = Relu(x)\n");
}

TEST(RemoveNeutralArithmetic, StaysWhereItMeansSomething) {
  EXPECT_FALSE(Apply(MakeRemoveNeutralArithmetic(), R"(
    in    x: float[3]
    in    n: int64[3]
    const zero: float = 0
    const one: float = 1
    const two: float = 2
    const integer: int64 = 0
    const wide: float[1,1] = 0
    const mixed: float[3] = 0 1 0
    a:float[3] = Sub(zero, x)
    b:float[3] = Div(one, a)
    c:float[3] = Mul(b, two)
    d:float[1,3] = Add(c, wide)
    e:float[1,3] = Add(d, mixed)
    f:int64[3] = Add(n, integer)
    out e, f
  )")
                   .changed)
      << "negation, reciprocal, other numbers, a wider shape, integers";
}

// A provider for integer hardware looks for DequantizeLinear, operator, QuantizeLinear, and claims the three.
TEST(RemoveNoOpShapeChange, StaysInTheMiddleOfAQuantizedUnit) {
  const std::string head = R"(
    in    q: uint8[2,3]
    const scale: float = 0.5
    const other: float = 0.25
    const zero: uint8 = 3
    const shape: int64[2] = 2 3
    d:float[2,3] = DequantizeLinear(q, scale, zero)
    r:float[2,3] = Reshape(d, shape)
  )";
  EXPECT_FALSE(
      Apply(MakeRemoveNoOpShapeChange(), head + "y:uint8[2,3] = QuantizeLinear(r, other, zero)\nout y").changed);
  EXPECT_TRUE(Apply(MakeRemoveNoOpShapeChange(), head + "y:uint8[2,3] = QuantizeLinear(r, scale, zero)\nout y").changed)
      << "quantising undoes dequantising: all three go";
  EXPECT_TRUE(Apply(MakeRemoveNoOpShapeChange(), head + "y:float[2,3] = Relu(r)\nout y").changed) << "no unit";
}

}  // namespace
}  // namespace epiphyte::test
