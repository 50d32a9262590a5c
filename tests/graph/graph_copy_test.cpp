// Graph::Clone, Extract and Detach.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/graph/graph.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

using namespace core;

std::vector<std::string> Names(const std::vector<ValueDef*>& values) {
  std::vector<std::string> names;
  for (const ValueDef* value : values) names.push_back(value->name());
  return names;
}

// The graph y = If(condition) { inner = Add(x, w) }, z = Neg(y); x is made by a node and w is a constant.
std::unique_ptr<Graph> GraphWithBody() {
  auto graph = ParseGraph(R"(
    in    condition: bool
    in    p: float[2]
    const w: float[2] = 1 2
    x:float[2] = Relu(p)
    z = Neg(y)
    out   z
  )");
  auto body = std::make_unique<Graph>("body");
  ValueDef* inner = body->AddValue("inner");
  body->AddNode("Add", "", 14, {body->AddOuterScope(graph->FindValue("x")), body->AddOuterScope(graph->FindValue("w"))},
                {inner});
  body->SetOutputs({inner});
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
  graph->AddNode("If", "", 13, {graph->FindValue("condition")}, {graph->FindValue("y")}, std::move(attributes), "if");
  graph->Finalize();
  return graph;
}

TEST(GraphClone, KeepsTheDefaultValuesOfInputs) {
  Graph graph("g");
  const float number = 2;
  const ConstantPtr two = Constant::Copy(DataType::kFloat, {1}, &number, sizeof number);
  ValueDef* x = graph.AddInput("x", Type::Tensor(DataType::kFloat));
  ValueDef* w = graph.AddOverridable("w", two);
  ValueDef* y = graph.AddValue("y");
  graph.AddNode("Mul", "", 14, {x, w}, {y});
  graph.SetOutputs({y});
  const auto copy = graph.Clone();
  EXPECT_EQ(Names(copy->inputs()), (std::vector<std::string>{"x", "w"}));
  const ValueDef& twin = *copy->inputs()[1];
  EXPECT_EQ(twin.default_value(), two);
  EXPECT_FALSE(twin.IsConstant());
  EXPECT_EQ(twin.ResolvedConstant(), nullptr);
  EXPECT_EQ(twin.type()->ToString(), "tensor(float)[1]");
  EXPECT_EQ(copy->inputs()[0]->default_value(), nullptr);
  // In an extracted part, an input with a default becomes an ordinary input.
  Graph::Boundary boundary;
  Node* const nodes[] = {copy->nodes()[0].get()};
  const auto part = copy->Extract(nodes, "part", &boundary);
  EXPECT_EQ(Names(part->inputs()), (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(part->inputs()[1]->default_value(), nullptr);
}

TEST(GraphClone, IsDeepAndSharesConstants) {
  auto graph = GraphWithBody();
  FindNode(*graph, "x")->provider = 3;
  auto copy = graph->Clone();
  EXPECT_EQ(Print(*copy), Print(*graph));
  EXPECT_EQ(copy->FindValue("w")->constant(), graph->FindValue("w")->constant());
  EXPECT_EQ(FindNode(*copy, "x")->provider, 3);
  EXPECT_EQ(Names(copy->inputs()), Names(graph->inputs()));
  const Graph& body = *FindNode(*copy, "if")->subgraphs()[0];
  EXPECT_EQ(body.FindValue("x")->outer(), copy->FindValue("x"));
  graph.reset();
  EXPECT_EQ(Print(body), "inner = Add(x, w)\n");
}

TEST(GraphExtract, TakesInputsOutputsAndConstants) {
  auto graph = ParseGraph(R"(
    opset 17
    in    x: float[2]
    in    unused: float[2]
    const w: float[2] = 1 2
    const v: float[2] = 3 4
    a:float[2] = Add(x, w)
    b:float[2] = Relu(a)
    c:float[2] = Mul(b, v)
    d:float[2] = Add(c, a)
    out   d, b
  )");
  const std::vector<Node*> nodes = {FindNode(*graph, "c"), FindNode(*graph, "b")};
  Graph::Boundary boundary;
  auto part = graph->Extract(nodes, "part", &boundary);
  EXPECT_EQ(part->name(), "part");
  EXPECT_EQ(Print(*part), "b = Relu(a)\nc = Mul(b, v)\n");
  EXPECT_EQ(Names(part->inputs()), std::vector<std::string>{"a"});
  EXPECT_EQ(Names(part->outputs()), (std::vector<std::string>{"b", "c"})) << "b is used inside and is a graph output";
  EXPECT_EQ(boundary.inputs, std::vector<ValueDef*>{graph->FindValue("a")});
  EXPECT_EQ(boundary.outputs, (std::vector<ValueDef*>{graph->FindValue("b"), graph->FindValue("c")}));
  EXPECT_EQ(part->FindValue("v")->constant(), graph->FindValue("v")->constant());
  EXPECT_EQ(part->FindValue("w"), nullptr);
  EXPECT_EQ(part->FindValue("c")->type(), graph->FindValue("c")->type());
  EXPECT_EQ(part->Opset(""), 17);
  EXPECT_EQ(graph->node_count(), 4u) << "the graph itself is as it was";
}

TEST(GraphExtract, BodiesReadThePartitionsValues) {
  auto graph = GraphWithBody();
  Graph::Boundary boundary;
  const std::vector<Node*> alone = {FindNode(*graph, "if")};
  auto part = graph->Extract(alone, "part", &boundary);
  EXPECT_EQ(Names(part->inputs()), (std::vector<std::string>{"condition", "x"}));
  EXPECT_EQ(part->FindValue("w")->constant(), graph->FindValue("w")->constant());
  const Node* taken = FindNode(*part, "if");
  EXPECT_EQ(taken->subgraphs()[0]->FindValue("x")->outer(), part->FindValue("x"));
  EXPECT_EQ(taken->subgraphs()[0]->parent(), taken);

  const std::vector<Node*> with_producer = {FindNode(*graph, "x"), FindNode(*graph, "if")};
  part = graph->Extract(with_producer, "part", &boundary);
  EXPECT_EQ(Names(part->inputs()), (std::vector<std::string>{"p", "condition"}));
  EXPECT_EQ(Names(part->outputs()), std::vector<std::string>{"y"});
}

TEST(GraphExtract, OuterScopeValuesBecomeInputsAndOuterConstantsConstants) {
  auto graph = GraphWithBody();
  Graph& body = *FindNode(*graph, "if")->subgraphs()[0];
  const std::vector<Node*> nodes = {body.nodes()[0].get()};
  Graph::Boundary boundary;
  auto part = body.Extract(nodes, "part", &boundary);
  EXPECT_EQ(Names(part->inputs()), std::vector<std::string>{"x"});
  EXPECT_EQ(boundary.inputs, std::vector<ValueDef*>{body.FindValue("x")});
  EXPECT_FALSE(part->FindValue("x")->IsOuterScope());
  EXPECT_EQ(part->FindValue("w")->constant(), graph->FindValue("w")->constant());
}

TEST(GraphExtract, KeepsWhereExternalDataCameFrom) {
  auto graph = ParseGraph(R"(
    in    x: float[2]
    const w: float[2] = 1 2
    y = Add(x, w)
    out   y
  )");
  graph->FindValue("w")->external = std::make_unique<ExternalLocation>(ExternalLocation{"weights.bin", 64, 8});
  const std::vector<Node*> nodes = {graph->nodes()[0].get()};
  auto part = graph->Extract(nodes, "part", nullptr);
  ASSERT_NE(part->FindValue("w")->external, nullptr);
  EXPECT_EQ(part->FindValue("w")->external->file, "weights.bin");
  EXPECT_EQ(part->FindValue("w")->external->offset, 64u);
}

// --- Detach gives the same as Extract, and leaves the rest of the graph valid

// Makes nodes with up to three inputs, taken from recent values and constants. Some are Ifs with a body that reads two
// of them.
std::unique_ptr<Graph> RandomGraph(std::mt19937& random) {
  auto graph = ParseGraph(R"(
    in    x: float[2]
    in    c: bool
    const w: float[2] = 1 2
    const v: float[2] = 3 4
  )");
  std::vector<ValueDef*> values = {graph->FindValue("x"), graph->FindValue("w"), graph->FindValue("v")};
  const auto pick = [&] { return values[random() % values.size()]; };
  for (int i = 0; i < 14; ++i) {
    const std::string name = "n" + std::to_string(i);
    ValueDef* output = graph->AddValue(name, values[0]->type());
    std::vector<Attribute> attributes;
    std::vector<ValueDef*> inputs = {graph->FindValue("c")};
    if (random() % 4 == 0) {
      auto body = std::make_unique<Graph>("body");
      ValueDef* inner = body->AddValue("inner");
      body->AddNode("Add", "", 14, {body->AddOuterScope(pick()), body->AddOuterScope(pick())}, {inner});
      body->SetOutputs({inner});
      attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
    } else {
      inputs = {pick(), pick(), random() % 2 == 0 ? nullptr : pick()};
    }
    graph->AddNode(attributes.empty() ? "Op" : "If", "", 13, inputs, {output}, std::move(attributes), name);
    values.push_back(output);
  }
  graph->SetOutputs({values.back(), values[5]});
  graph->Finalize();
  return graph;
}

std::string PrintDeep(const Graph& graph) {
  std::string text = Print(graph);
  for (const auto& node : graph.nodes()) {
    for (const Graph* body : node->subgraphs()) {
      text += Print(*body);
      for (const auto& value : body->values()) {
        EXPECT_TRUE(!value->IsOuterScope() || &value->outer()->graph() == &graph) << value->name();
      }
    }
    for (const ValueDef* value : node->implicit_inputs()) text += "implicit " + value->name() + "\n";
  }
  return text;
}

TEST(GraphDetach, GivesWhatExtractGives) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    auto graph = RandomGraph(random);
    // Consecutive nodes in topological order are convex.
    const size_t begin = random() % graph->node_count();
    const size_t end = begin + 1 + random() % (graph->node_count() - begin);
    std::vector<Node*> nodes;
    for (size_t i = begin; i < end; ++i) nodes.push_back(graph->nodes()[i].get());
    nodes.front()->provider = 2;

    Graph::Boundary expected;
    auto extracted = graph->Extract(nodes, "part", &expected);
    Graph::Boundary found;
    auto detached = graph->Detach(nodes, "part", &found);
    EXPECT_EQ(PrintDeep(*detached), PrintDeep(*extracted));
    EXPECT_EQ(Names(detached->inputs()), Names(extracted->inputs()));
    EXPECT_EQ(Names(detached->outputs()), Names(extracted->outputs()));
    EXPECT_EQ(found.inputs, expected.inputs);
    EXPECT_EQ(found.outputs, expected.outputs);
    EXPECT_EQ(detached->value_count(), extracted->value_count());
    EXPECT_EQ(detached->nodes()[0]->provider, kUnplaced);
    EXPECT_EQ(nodes.front()->graph().name(), "part") << "the nodes themselves have moved";

    // The graph without the nodes is complete again once another node makes their outputs.
    graph->AddNode("Fused", "", 1, found.inputs, found.outputs, {}, "fused");
    graph->Finalize();
    for (const auto& node : graph->nodes()) {
      for (const ValueDef* value : node->inputs()) {
        const bool is_made = value == nullptr || value->producer() || value->IsInput() || value->IsConstant();
        EXPECT_TRUE(is_made) << value->name();
      }
    }
    graph.reset();
    EXPECT_FALSE(PrintDeep(*detached).empty()) << "it doesn't need the graph that it came from";
  }
}

TEST(GraphDetach, ConstantsThatOthersUseAreShared) {
  auto graph = ParseGraph(R"(
    in    x: float[2]
    const shared: float[2] = 1 2
    const own: float[2] = 3 4
    a = Add(x, shared)
    b = Op(a, shared, own)
    out   b
  )");
  const ConstantPtr own = graph->FindValue("own")->constant();
  const std::vector<Node*> nodes = {FindNode(*graph, "b")};
  auto part = graph->Detach(nodes, "part", nullptr);
  EXPECT_EQ(part->FindValue("own")->constant(), own);
  EXPECT_EQ(graph->FindValue("own"), nullptr) << "moved out";
  EXPECT_EQ(part->FindValue("shared")->constant(), graph->FindValue("shared")->constant());
}

}  // namespace
}  // namespace epiphyte::test
