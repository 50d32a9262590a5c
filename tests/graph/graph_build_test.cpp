// Building graphs: accepted graphs, and graphs that break the rules of the IR.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace epiphyte::test {
namespace {

using namespace core;

const TypePtr kFloat = Type::Tensor(DataType::kFloat);

template <typename Action>
std::string MessageOf(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(GraphBuild, ConnectsValuesAndNodes) {
  Graph graph("g");
  ValueDef* x = graph.AddInput("x", kFloat);
  ValueDef* y = graph.AddValue("y");
  Node* node = graph.AddNode("Add", "", 14, {x, x}, {y});
  graph.SetOutputs({y});
  EXPECT_EQ(y->producer(), node);
  EXPECT_EQ(x->consumers(), (std::vector<Node*>{node, node})) << "one entry a use";
  EXPECT_TRUE(x->IsInput());
  EXPECT_TRUE(y->IsOutput());
  EXPECT_EQ(graph.FindValue("y"), y);
  EXPECT_EQ(graph.FindValue("z"), nullptr);
}

TEST(GraphBuild, NamesAreUnique) {
  Graph graph("g");
  graph.AddInput("x", kFloat);
  EXPECT_EQ(MessageOf([&] { graph.AddValue("x"); }), "value 'x' is defined twice in graph 'g'; names must be unique");
  EXPECT_EQ(graph.value_count(), 1u);
}

TEST(GraphBuild, EmptyNamesBecomeFreshOnes) {
  Graph graph("g");
  ValueDef* a = graph.AddValue("");
  ValueDef* b = graph.AddValue("");
  EXPECT_FALSE(a->name().empty());
  EXPECT_NE(a->name(), b->name());
}

TEST(GraphBuild, AValueHasOneProducer) {
  Graph graph("g");
  ValueDef* x = graph.AddInput("x", kFloat);
  ValueDef* y = graph.AddValue("y");
  ValueDef* z = graph.AddValue("z");
  graph.AddNode("Relu", "", 14, {x}, {y}, {}, "first");
  EXPECT_EQ(MessageOf([&] {
              graph.AddNode("Split", "", 13, {x}, {z, y}, {}, "second");
            }),
            "value 'y' is produced by node 'first' and again by Split node 'second'");
  EXPECT_EQ(z->producer(), nullptr) << "the failed node leaves nothing behind";
  EXPECT_EQ(x->consumers().size(), 1u);
  EXPECT_NE(MessageOf([&] { graph.AddNode("Split", "", 13, {x}, {z, z}); }), "");
  EXPECT_NE(MessageOf([&] { graph.AddNode("Relu", "", 14, {y}, {x}); }), "") << "x is an input";
}

TEST(GraphBuild, ConstantsHaveNoProducer) {
  Graph graph("g");
  const float one = 1;
  const ConstantPtr constant = Constant::Copy(DataType::kFloat, {1}, &one, 4);
  ValueDef* c = graph.AddConstant("c", constant);
  EXPECT_EQ(c->type()->ToString(), "tensor(float)[1]");
  EXPECT_THROW(graph.AddNode("Relu", "", 14, {}, {c}), Error);
  ValueDef* x = graph.AddInput("x", kFloat);
  EXPECT_THROW(graph.SetConstant(x, constant), Error);
  EXPECT_THROW(graph.SetInputs({c}), Error);
  EXPECT_THROW(graph.SetInputs({x, x}), Error);
}

TEST(GraphBuild, ValuesOfOtherGraphsAreRefused) {
  Graph graph("g");
  Graph other("other");
  ValueDef* foreign = other.AddInput("x", kFloat);
  ValueDef* y = graph.AddValue("y");
  EXPECT_EQ(MessageOf([&] { graph.AddNode("Relu", "", 14, {foreign}, {y}); }),
            "value 'x' does not belong to graph 'g'");
  EXPECT_THROW(graph.SetOutputs({foreign}), Error);
  EXPECT_THROW(graph.AddOuterScope(y), Error) << "a value of the graph itself is not outer";
}

TEST(GraphBuild, AnOutputMayBeListedTwice) {
  Graph graph("g");
  ValueDef* x = graph.AddInput("x", kFloat);
  graph.SetOutputs({x, x});
  EXPECT_TRUE(x->IsOutput());
  graph.SetOutputs({});
  EXPECT_FALSE(x->IsOutput());
}

TEST(GraphBuild, AttributesAreReplacedByName) {
  Graph graph("g");
  ValueDef* y = graph.AddValue("y");
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Int("axis", 1));
  Node* node = graph.AddNode("Concat", "", 13, {}, {y}, std::move(attributes));
  node->SetAttribute(Attribute::Int("axis", 2));
  EXPECT_EQ(node->IntAttribute("axis", 0), 2);
  EXPECT_EQ(node->attributes().size(), 1u);
  EXPECT_EQ(node->FloatAttribute("axis", 0.5f), 0.5f) << "of another type: as if absent";
  node->RemoveAttribute("axis");
  EXPECT_EQ(node->FindAttribute("axis"), nullptr);
}

TEST(GraphBuild, FreshNamesAvoidEnclosingGraphs) {
  Graph graph("g");
  graph.AddInput("x", kFloat);
  ValueDef* y = graph.AddValue("y");
  Node* node = graph.AddNode("If", "", 13, {}, {y}, [] {
    std::vector<Attribute> attributes;
    attributes.push_back(Attribute::Subgraph("then_branch", std::make_unique<Graph>("body")));
    return attributes;
  }());
  EXPECT_EQ(node->subgraphs()[0]->FreshName("z"), "z");
  EXPECT_NE(node->subgraphs()[0]->FreshName("x"), "x");
}

TEST(GraphBuild, ManyFreshNamesOfOneStemAreCheap) {
  Graph graph("g");
  for (int i = 0; i < 100000; ++i) graph.AddValue(graph.FreshName("t"));
  EXPECT_EQ(graph.value_count(), 100000u);
}

}  // namespace
}  // namespace epiphyte::test
