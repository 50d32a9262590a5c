// The editor tracks producers and readers of values while a graph is rewritten.
#include "epiphyte/kit/graph/editor.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/text.hpp"

namespace epiphyte::test {
namespace {

using kit::ir::Editor;
using kit::ir::FromText;
using kit::ir::Graph;
using kit::ir::Node;
using kit::ir::NodesToText;
using testing::ElementsAre;

int32_t ValueOf(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].name == name) return static_cast<int32_t>(i);
  ADD_FAILURE() << "no value " << name;
  return -1;
}

int32_t NodeMaking(const Editor& editor, std::string_view name) {
  return editor.Producer(ValueOf(editor.graph(), name));
}

TEST(Editor, KnowsProducerAndReadersOfAValue) {
  Graph graph = FromText("in x: float[2]\na = Neg(x)\nb = Add(a, a)\nc = Relu(b)\nout c, b");
  const Editor editor(graph);
  const int32_t a = ValueOf(graph, "a"), b = ValueOf(graph, "b");
  EXPECT_EQ(editor.Producer(a), 0);
  EXPECT_EQ(editor.Producer(ValueOf(graph, "x")), -1);
  EXPECT_EQ(editor.Producer(-1), -1);
  EXPECT_EQ(editor.ProducerOf(a, "Neg"), 0);
  EXPECT_EQ(editor.ProducerOf(a, "Relu"), -1);
  EXPECT_THAT(editor.Readers(a), ElementsAre(1, 1)) << "one entry a use";
  EXPECT_EQ(editor.OnlyReader(a), -1);
  EXPECT_EQ(editor.OnlyReader(b), -1) << "the graph gives it out as well";
  EXPECT_EQ(editor.OnlyReader(ValueOf(graph, "x")), 0);
  EXPECT_TRUE(editor.IsOutput(b));
  EXPECT_FALSE(editor.Is(-1, "Relu"));
}

TEST(Editor, RemovesUnusedNodesAfterAReplacement) {
  Graph graph =
      FromText("in x: float[2]\nconst w: float[1] = [1]\na = Neg(x)\nb = Mul(a, w)\nc = Relu(b)\nd = Abs(c)\nout d");
  Editor editor(graph);
  const int32_t c = NodeMaking(editor, "c");
  Node fused = editor.node(c);
  fused.op_type = "Fused";
  fused.inputs = {ValueOf(graph, "x")};
  editor.Replace(c, std::move(fused));
  EXPECT_TRUE(editor.removed(0));
  EXPECT_TRUE(editor.removed(1));
  editor.Finish();
  EXPECT_EQ(NodesToText(graph), "c = Fused(x)\nd = Abs(c)\n");
  EXPECT_TRUE(graph.constants.empty());
  EXPECT_EQ(graph.values.size(), 3u);
  kit::ir::Check(graph);
}

TEST(Editor, KeepsWhatAnotherNodeStillReads) {
  Graph graph = FromText("in x: float[2]\na = Neg(x)\nb = Relu(a)\nc = Abs(a)\nout b, c");
  Editor editor(graph);
  Node fused = editor.node(1);
  fused.inputs = {ValueOf(graph, "x")};
  editor.Replace(1, std::move(fused));
  editor.Finish();
  EXPECT_EQ(NodesToText(graph), "a = Neg(x)\nb = Relu(x)\nc = Abs(a)\n");
}

TEST(Editor, ANodeThatMakesAnothersValueTakesItOver) {
  Graph graph = FromText("in x: float[2]\na, s = Norm(x)\nb = Relu(a)\nout b, s");
  Editor editor(graph);
  Node fused = editor.node(1);
  fused.op_type = "NormRelu";
  fused.inputs = {ValueOf(graph, "x")};
  fused.outputs = {ValueOf(graph, "b"), ValueOf(graph, "s")};
  editor.Replace(1, std::move(fused));
  editor.Finish();
  EXPECT_EQ(NodesToText(graph), "b, s = NormRelu(x)\n");
  kit::ir::Check(graph);
}

TEST(Editor, InsertsNodesBeforeTheirPlaces) {
  Graph graph = FromText("in x: float[2]\na = Neg(x)\nb = Relu(a)\nout b");
  Editor editor(graph);
  const auto insert = [&](int32_t place, const char* op_type, int32_t from) {
    kit::ir::Value value = editor.info(from);
    value.name = op_type;
    const int32_t made = editor.AddValue(std::move(value));
    Node node;
    node.op_type = op_type;
    node.inputs = {from};
    node.outputs = {made};
    editor.InsertBefore(place, std::move(node));
    return made;
  };
  const int32_t a = ValueOf(graph, "a");
  const int32_t second = insert(1, "Second", a);
  const int32_t first = insert(editor.Producer(second), "First", a);
  Node changed = editor.node(editor.Producer(second));
  changed.inputs = {first};
  editor.Replace(editor.Producer(second), std::move(changed));
  const int32_t third = insert(1, "Third", second);
  changed = editor.node(1);
  changed.inputs = {third};
  editor.Replace(1, std::move(changed));
  editor.Finish();
  EXPECT_EQ(NodesToText(graph),
            "a = Neg(x)\nFirst = First(a)\nSecond = Second(First)\nThird = Third(Second)\nb = Relu(Third)\n");
  kit::ir::Check(graph);
}

TEST(Editor, ReplacesUsesAndTheOutputItself) {
  Graph graph = FromText("in x: float[2]\na = Identity(x)\nb = Add(a, a)\nout b, a");
  Editor editor(graph);
  editor.ReplaceUses(ValueOf(graph, "a"), ValueOf(graph, "x"));
  EXPECT_TRUE(editor.removed(0));
  editor.Finish();
  EXPECT_EQ(kit::ir::ToText(graph), "graph \"\"\nin x: float[2]\nb = Add(x, x)\nout b, x\n");
}

TEST(Editor, ReplaceUsesSkipsTheProducerOfTheReplacement) {
  Graph graph = FromText("in x: float[2]\na = Neg(x)\nb = Relu(a)\nout b, a");
  Editor editor(graph);
  const int32_t a = ValueOf(graph, "a");
  kit::ir::Value value = editor.info(a);
  value.name = "half";
  const int32_t half = editor.AddValue(std::move(value));
  Node cast;
  cast.op_type = "Cast";
  cast.inputs = {a};
  cast.outputs = {half};
  editor.InsertBefore(1, std::move(cast));
  editor.ReplaceUses(a, half);
  EXPECT_THAT(editor.Readers(a), ElementsAre(2));
  editor.Finish();
  EXPECT_EQ(NodesToText(graph), "a = Neg(x)\nhalf = Cast(a)\nb = Relu(half)\n");
  EXPECT_THAT(graph.outputs, ElementsAre(ValueOf(graph, "b"), ValueOf(graph, "half")));
}

TEST(Editor, WhatABodyReadsIsNeeded) {
  Graph graph = FromText("in c: bool[]\nin x: float[2]\na = Neg(x)\ny = If<then_branch=?5>(c) reads (a)\nout y");
  Editor editor(graph);
  EXPECT_EQ(editor.OnlyReader(ValueOf(graph, "a")), 1);
  editor.ReplaceUses(ValueOf(graph, "a"), ValueOf(graph, "x"));
  editor.Finish();
  EXPECT_EQ(NodesToText(graph), "y = If<then_branch=?5>(c) reads (x)\n");
}

TEST(Editor, DropsNodesThatWereUnusedFromTheStart) {
  Graph graph = FromText("in x: float[2]\nconst w: float[1] = [1]\na = Neg(x)\nb = Add(a, w)\nc = Relu(x)\nout c");
  Editor(graph).Finish();
  EXPECT_EQ(kit::ir::ToText(graph), "graph \"\"\nin x: float[2]\nc = Relu(x)\nout c\n");
}

TEST(Editor, ReadsConstantsAtAnyAddress) {
  Graph graph = FromText(
      "const f: float[2] = [0.5, 2]\nconst i: int64[2] = [3, -4]\nconst j: int32[1] = [7]\nconst h: float16[1] = "
      "[0.25]\n"
      "const u: uint64[] = [9]\nconst b: bool[1] = [1]\nconst s: string[1] = [\"1\"]\nconst gone: float[1] = …\n"
      "const none: float[0] = []\nin x: float[2]");
  std::vector<std::vector<char>> moved;
  for (kit::ir::Constant& constant : graph.constants) {
    if (constant.tensor.data == nullptr) continue;
    std::vector<char>& bytes = moved.emplace_back(constant.tensor.Bytes() + 1);
    std::memcpy(bytes.data() + 1, constant.tensor.data, constant.tensor.Bytes());
    constant.tensor.data = bytes.data() + 1;
  }
  const Editor editor(graph);
  const auto value = [&](const char* name) { return ValueOf(graph, name); };
  EXPECT_THAT(editor.Floats(value("f")).value(), ElementsAre(0.5f, 2.0f));
  EXPECT_FALSE(editor.Floats(value("h")));
  EXPECT_FALSE(editor.Floats(value("gone")));
  EXPECT_FALSE(editor.Floats(value("x")));
  EXPECT_TRUE(editor.Floats(value("none")).value().empty());
  EXPECT_THAT(editor.Ints(value("i")).value(), ElementsAre(3, -4));
  EXPECT_THAT(editor.Ints(value("j")).value(), ElementsAre(7));
  EXPECT_FALSE(editor.Ints(value("u")));
  float number = 0;
  EXPECT_TRUE(editor.Scalar(value("h"), &number));
  EXPECT_EQ(number, 0.25f);
  EXPECT_TRUE(editor.Scalar(value("u"), &number));
  EXPECT_EQ(number, 9.0f);
  for (const char* name : {"f", "b", "s", "gone", "none", "x"})
    EXPECT_FALSE(editor.Scalar(value(name), &number)) << name;
  EXPECT_FALSE(editor.Scalar(-1, &number));
  EXPECT_EQ(editor.ConstantOf(value("gone")), nullptr);
}

TEST(Editor, RecognisesScalarsNearANumber) {
  Graph graph =
      FromText("const a: float[] = [1.41421354]\nconst b: float[] = [1000.005]\nconst c: float[] = [1.41423]");
  const Editor editor(graph);
  EXPECT_TRUE(editor.IsScalarNear(0, 1.4142135623730951));
  EXPECT_TRUE(editor.IsScalarNear(1, 1000));
  EXPECT_FALSE(editor.IsScalarNear(2, 1.4142135623730951));
}

TEST(Editor, ComparesShapesThatAreKnown) {
  Graph graph = FromText("in a: float[2,3]\nin b: int8[2,3]\nin c: float[2,-1]\nin d: float\nin e: float[2,4]");
  const Editor editor(graph);
  EXPECT_TRUE(editor.SameStaticShape(0, 1));
  EXPECT_FALSE(editor.SameStaticShape(2, 2));
  EXPECT_FALSE(editor.SameStaticShape(3, 3));
  EXPECT_FALSE(editor.SameStaticShape(0, 4));
  EXPECT_TRUE(editor.IsFloat(0));
  EXPECT_FALSE(editor.IsFloat(1));
  EXPECT_FALSE(editor.IsFloat(-1));
}

TEST(Editor, AddsConstantsThatOwnTheirBytes) {
  Graph graph = FromText("in x: float[2]\na = Relu(x)\nout a");
  Editor editor(graph);
  std::vector<float> numbers = {1, 2};
  const int32_t w = editor.AddConstant("w", {2}, numbers);
  numbers = {0, 0};
  Node add;
  add.op_type = "Add";
  add.inputs = {0, w};
  add.outputs = editor.node(0).outputs;
  editor.Replace(0, std::move(add));
  EXPECT_THAT(editor.Floats(w).value(), ElementsAre(1.0f, 2.0f));
  editor.Finish();
  EXPECT_EQ(kit::ir::ToText(graph), "graph \"\"\nin x: float[2]\nconst w: float[2] = [1, 2]\na = Add(x, w)\nout a\n");
}

}  // namespace
}  // namespace epiphyte::test
