// Moving uses from one value to another, in the graph and in the bodies of its nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

using namespace core;

const TypePtr kFloat = Type::Tensor(DataType::kFloat);

// Checks that every use is listed: a value's consumers contain a node as often as the node names the value.
void ExpectConsistent(const Graph& graph) {
  std::map<const ValueDef*, std::vector<const Node*>> uses;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    for (const ValueDef* value : node->inputs()) uses[value].push_back(node.get());
    for (const ValueDef* value : node->implicit_inputs()) uses[value].push_back(node.get());
  }
  for (const auto& value : graph.values()) {
    if (value == nullptr) continue;
    std::vector<const Node*> listed(value->consumers().begin(), value->consumers().end());
    std::vector<const Node*> expected = uses[value.get()];
    std::sort(listed.begin(), listed.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(listed, expected) << value->name();
  }
}

// Adds y = If(condition) { inner = op(x) }; x belongs to the outer graph.
Node* AddBody(Graph& graph, std::string_view op_type, ValueDef* condition, std::vector<ValueDef*> outer,
              const std::string& name) {
  auto body = std::make_unique<Graph>(name + "_body");
  std::vector<ValueDef*> inputs;
  for (ValueDef* value : outer) inputs.push_back(body->AddOuterScope(value));
  ValueDef* result = body->AddValue("inner");
  body->AddNode(op_type, "", 13, inputs, {result});
  body->SetOutputs({result});
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
  return graph.AddNode("If", "", 13, {condition}, {graph.AddValue(name)}, std::move(attributes), name);
}

TEST(GraphUses, ReplaceAllUsesMovesInputsAndOutputs) {
  auto graph = ParseGraph(R"(
    in  x: float[2]
    a = Relu(x)
    b = Add(a, a)
    c = Concat(a, x, a)
    out a, b, c, a
  )");
  ValueDef* x = graph->FindValue("x");
  graph->ReplaceAllUses(graph->FindValue("a"), x);
  EXPECT_EQ(Print(*graph), "a = Relu(x)\nb = Add(x, x)\nc = Concat(x, x, x)\n");
  EXPECT_EQ(graph->outputs()[0], x);
  EXPECT_EQ(graph->outputs()[3], x);
  EXPECT_TRUE(graph->FindValue("a")->consumers().empty());
  EXPECT_FALSE(graph->FindValue("a")->IsOutput());
  ExpectConsistent(*graph);
}

TEST(GraphUses, ReplaceInputAppendsAndTrims) {
  auto graph = ParseGraph(R"(
    in  x: float[2]
    y = Clip(x)
    out y
  )");
  Node* node = FindNode(*graph, "y");
  ValueDef* x = graph->FindValue("x");
  graph->ReplaceInput(node, 2, x);
  EXPECT_EQ(Print(*graph), "y = Clip(x, _, x)\n");
  graph->ReplaceInput(node, 2, nullptr);
  EXPECT_EQ(Print(*graph), "y = Clip(x)\n");
  ExpectConsistent(*graph);
}

TEST(GraphUses, ReplaceOutputKeepsTheNode) {
  auto graph = ParseGraph(R"(
    in  x: float[2]
    y = Relu(x)
    z = Neg(y)
    out z
  )");
  ValueDef* other = graph->AddValue("other");
  Node* node = FindNode(*graph, "y");
  graph->ReplaceOutput(node, 0, other);
  EXPECT_EQ(other->producer(), node);
  EXPECT_EQ(graph->FindValue("y")->producer(), nullptr);
  EXPECT_THROW(graph->ReplaceOutput(node, 0, graph->FindValue("z")), Error) << "z has a producer";
  EXPECT_THROW(graph->ReplaceOutput(node, 0, graph->FindValue("x")), Error) << "x is an input";
  EXPECT_THROW(graph->ReplaceOutput(node, 1, graph->AddValue("w")), Error) << "there is no output 1";
}

TEST(GraphUses, BodiesMakeTheirOuterValuesImplicitInputs) {
  Graph graph("g");
  ValueDef* condition = graph.AddInput("condition", Type::Tensor(DataType::kBool));
  ValueDef* x = graph.AddInput("x", kFloat);
  Node* node = AddBody(graph, "Relu", condition, {x}, "y");
  EXPECT_EQ(node->implicit_inputs(), std::vector<ValueDef*>{x});
  EXPECT_EQ(x->consumers(), std::vector<Node*>{node});
  EXPECT_EQ(node->subgraphs()[0]->parent(), node);

  Graph& body = *node->subgraphs()[0];
  ValueDef* z = graph.AddInput("z", kFloat);
  ValueDef* stand_in = body.AddOuterScope(z);
  EXPECT_EQ(body.AddOuterScope(z), stand_in);
  EXPECT_EQ(node->implicit_inputs(), (std::vector<ValueDef*>{x, z})) << "also for stand-ins made later";
  body.RemoveValue(stand_in);
  EXPECT_EQ(node->implicit_inputs(), std::vector<ValueDef*>{x});
  ExpectConsistent(graph);

  node->RemoveAttribute("then_branch");
  EXPECT_TRUE(node->implicit_inputs().empty());
  EXPECT_TRUE(node->subgraphs().empty());
  EXPECT_TRUE(x->consumers().empty());
}

TEST(GraphUses, ReplaceAllUsesReachesIntoBodies) {
  Graph graph("g");
  ValueDef* condition = graph.AddInput("condition", Type::Tensor(DataType::kBool));
  ValueDef* x = graph.AddInput("x", kFloat);
  ValueDef* z = graph.AddInput("z", kFloat);
  Node* node = AddBody(graph, "Relu", condition, {x}, "y");
  graph.ReplaceAllUses(x, z);
  EXPECT_EQ(node->implicit_inputs(), std::vector<ValueDef*>{z});
  EXPECT_EQ(Print(*node->subgraphs()[0]), "inner = Relu(z)\n") << "stand-ins have the name of their value";
  EXPECT_EQ(node->subgraphs()[0]->FindValue("z")->outer(), z);
  EXPECT_EQ(node->subgraphs()[0]->FindValue("x"), nullptr);
  ExpectConsistent(graph);
}

TEST(GraphUses, StandInsOfOneValueMerge) {
  Graph graph("g");
  ValueDef* condition = graph.AddInput("condition", Type::Tensor(DataType::kBool));
  ValueDef* x = graph.AddInput("x", kFloat);
  ValueDef* z = graph.AddInput("z", kFloat);
  Node* node = AddBody(graph, "Add", condition, {x, z}, "y");
  graph.ReplaceAllUses(x, z);
  EXPECT_EQ(node->implicit_inputs(), std::vector<ValueDef*>{z});
  EXPECT_EQ(Print(*node->subgraphs()[0]), "inner = Add(z, z)\n");
  ExpectConsistent(graph);
  ExpectConsistent(*node->subgraphs()[0]);
}

TEST(GraphUses, AStandInPushesALocalValueOfItsNameAside) {
  Graph graph("g");
  ValueDef* condition = graph.AddInput("condition", Type::Tensor(DataType::kBool));
  ValueDef* x = graph.AddInput("x", kFloat);
  ValueDef* taken = graph.AddInput("inner", kFloat);
  Node* node = AddBody(graph, "Relu", condition, {x}, "y");
  graph.ReplaceAllUses(x, taken);
  Graph& body = *node->subgraphs()[0];
  EXPECT_EQ(body.FindValue("inner")->outer(), taken);
  EXPECT_EQ(body.outputs()[0]->producer()->input(0), body.FindValue("inner"));
  EXPECT_NE(body.outputs()[0]->name(), "inner");
}

TEST(GraphUses, RenamesGoDownThroughNestedBodies) {
  Graph graph("g");
  ValueDef* condition = graph.AddInput("condition", Type::Tensor(DataType::kBool));
  ValueDef* x = graph.AddInput("x", kFloat);
  ValueDef* z = graph.AddInput("z", kFloat);
  auto middle = std::make_unique<Graph>("middle");
  ValueDef* middle_condition = middle->AddOuterScope(condition);
  AddBody(*middle, "Relu", middle_condition, {middle->AddOuterScope(x)}, "y");
  middle->SetOutputs({middle->FindValue("y")});
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(middle)));
  Node* node = graph.AddNode("If", "", 13, {condition}, {graph.AddValue("out")}, std::move(attributes));
  graph.ReplaceAllUses(x, z);
  const Graph& inner = *FindNode(*node->subgraphs()[0], "y")->subgraphs()[0];
  EXPECT_EQ(Print(inner), "inner = Relu(z)\n");
  EXPECT_EQ(inner.FindValue("z")->outer()->outer(), z);
}

TEST(GraphUses, RemovingNodesInAnyOrderStaysConsistent) {
  std::mt19937 random(7);
  Graph graph("g");
  std::vector<ValueDef*> values = {graph.AddInput("x", kFloat), graph.AddInput("y", kFloat)};
  std::vector<Node*> nodes;
  for (int i = 0; i < 60; ++i) {
    std::vector<ValueDef*> inputs;
    for (int k = 0; k < 3; ++k) inputs.push_back(values[random() % std::min<size_t>(values.size(), 4)]);
    values.push_back(graph.AddValue(""));
    nodes.push_back(graph.AddNode("Concat", "", 13, inputs, {values.back()}));
  }
  std::shuffle(nodes.begin(), nodes.end(), random);
  for (Node* node : nodes) {
    graph.RemoveNode(node);
    ExpectConsistent(graph);
  }
  EXPECT_EQ(graph.node_count(), 0u);
}

// 100,000 consumers removed one by one, front to back, back to front and at random: quadratic work would take minutes.
TEST(GraphUses, RemovingManyConsumersIsLinear) {
  for (const int order : {0, 1, 2}) {
    Graph graph("g");
    ValueDef* x = graph.AddInput("x", kFloat);
    std::vector<Node*> nodes;
    for (int i = 0; i < 100000; ++i) nodes.push_back(graph.AddNode("Relu", "", 14, {x}, {graph.AddValue("")}));
    if (order == 1) std::reverse(nodes.begin(), nodes.end());
    if (order == 2) std::shuffle(nodes.begin(), nodes.end(), std::mt19937(1));
    for (Node* node : nodes) graph.RemoveNode(node);
    EXPECT_TRUE(x->consumers().empty());
  }
}

TEST(GraphUses, ValuesInUseCannotBeRemoved) {
  auto graph = ParseGraph(R"(
    in  x: float[2]
    y = Relu(x)
    out y
  )");
  EXPECT_THROW(graph->RemoveValue(graph->FindValue("x")), Error);
  EXPECT_THROW(graph->RemoveValue(graph->FindValue("y")), Error);
}

}  // namespace
}  // namespace epiphyte::test
