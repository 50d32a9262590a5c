// Topological order and Finalize.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

using namespace core;

TEST(GraphOrder, KeepsAnOrderThatWorks) {
  auto graph = ParseGraph(R"(
    in  x: float
    b = Relu(x)
    a = Neg(x)
    d = Abs(b)
    c = Sum(a, d)
    out c
  )");
  EXPECT_EQ(Print(*graph), "b = Relu(x)\na = Neg(x)\nd = Abs(b)\nc = Sum(a, d)\n");
}

TEST(GraphOrder, SortsWithTiesInInsertionOrder) {
  auto graph = ParseGraph(R"(
    in  x: float
    out last
    last = Sum(a, b, c)
    c = Abs(x)
    a = Relu(b)
    b = Neg(x)
  )");
  EXPECT_EQ(Print(*graph), "c = Abs(x)\nb = Neg(x)\na = Relu(b)\nlast = Sum(a, b, c)\n");
  for (size_t i = 0; i < graph->nodes().size(); ++i) EXPECT_EQ(graph->nodes()[i]->id(), i);
}

TEST(GraphOrder, NamesANodeOnTheCycle) {
  Graph graph("loopy");
  ValueDef* a = graph.AddValue("a");
  ValueDef* b = graph.AddValue("b");
  ValueDef* c = graph.AddValue("c");
  graph.AddNode("Neg", "", 13, {c}, {graph.AddValue("d")}, {}, "downstream");
  graph.AddNode("Relu", "", 14, {b}, {a}, {}, "first");
  graph.AddNode("Abs", "", 13, {a}, {b}, {}, "second");
  graph.AddNode("Exp", "", 13, {b}, {c}, {}, "also_downstream");
  try {
    graph.Finalize();
    FAIL() << "a cycle has no order";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidGraph);
    EXPECT_TRUE(error.message().find("'first'") != std::string::npos ||
                error.message().find("'second'") != std::string::npos)
        << error.message();
  }
}

TEST(GraphOrder, ANodeMayNotReadItself) {
  Graph graph("g");
  ValueDef* a = graph.AddValue("a");
  graph.AddNode("Relu", "", 14, {a}, {a}, {}, "self");
  EXPECT_THROW(graph.TopologicalOrder(), Error);
}

TEST(GraphOrder, ImplicitInputsCount) {
  Graph graph("g");
  ValueDef* condition = graph.AddInput("condition", Type::Tensor(DataType::kBool));
  ValueDef* x = graph.AddValue("x");
  auto body = std::make_unique<Graph>("body");
  body->SetOutputs({body->AddOuterScope(x)});
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
  graph.AddNode("If", "", 13, {condition}, {graph.AddValue("y")}, std::move(attributes), "if");
  graph.AddNode("Cast", "", 13, {condition}, {x}, {}, "cast");
  EXPECT_EQ(graph.TopologicalOrder()[0]->name(), "cast");
}

TEST(GraphOrder, DeepChainsBackToFrontTakeNoRecursion) {
  constexpr int kNodes = 100000;
  Graph graph("g");
  std::vector<ValueDef*> values;
  for (int i = 0; i <= kNodes; ++i) values.push_back(graph.AddValue("v" + std::to_string(i)));
  for (int i = kNodes; i > 0; --i) graph.AddNode("Relu", "", 14, {values[i - 1]}, {values[i]});
  graph.Finalize();
  EXPECT_EQ(graph.nodes().front()->output(0), values[1]);
  EXPECT_EQ(graph.nodes().back()->output(0), values[kNodes]);
}

TEST(GraphFinalize, DropsHolesAndWhatNothingRefersTo) {
  auto graph = ParseGraph(R"(
    in    x: float
    const kept: float = 1
    a = Relu(x)
    b = Neg(x)
    out b
  )");
  graph->RemoveNode(FindNode(*graph, "a"));
  EXPECT_NE(graph->FindValue("a"), nullptr);
  graph->Finalize();
  EXPECT_EQ(graph->FindValue("a"), nullptr);
  EXPECT_NE(graph->FindValue("kept"), nullptr) << "constants stay until somebody decides";
  ASSERT_EQ(graph->nodes().size(), 1u);
  EXPECT_EQ(graph->nodes()[0]->id(), 0u);
  for (size_t i = 0; i < graph->values().size(); ++i) EXPECT_EQ(graph->values()[i]->id(), i);
}

TEST(GraphFinalize, DropsUnusedStandInsWithTheirImplicitInputs) {
  Graph graph("g");
  ValueDef* condition = graph.AddInput("condition", Type::Tensor(DataType::kBool));
  ValueDef* x = graph.AddInput("x", Type::Tensor(DataType::kFloat));
  auto body = std::make_unique<Graph>("body");
  body->AddOuterScope(x);
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
  Node* node = graph.AddNode("If", "", 13, {condition}, {graph.AddValue("y")}, std::move(attributes));
  graph.SetOutputs({graph.FindValue("y")});
  EXPECT_EQ(node->implicit_inputs().size(), 1u);
  graph.Finalize();
  EXPECT_TRUE(node->implicit_inputs().empty());
}

}  // namespace
}  // namespace epiphyte::test
