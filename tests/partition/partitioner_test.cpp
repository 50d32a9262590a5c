#include "core/partition/partitioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

using namespace core;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns a provider that supports single nodes of the given operators.
PartitionProvider Supporting(std::string name, std::vector<std::string> operators) {
  PartitionProvider provider;
  provider.name = name;
  provider.device = name + "_device";
  provider.get_capability = [operators = std::move(operators)](Graph& graph) {
    Capability capability;
    for (const auto& node : graph.nodes()) {
      if (node->provider != kUnplaced) continue;
      if (std::find(operators.begin(), operators.end(), node->op_type()) != operators.end()) {
        capability.units.push_back({node.get()});
      } else {
        capability.declined.emplace_back(node.get(), "no kernel for " + node->op_type());
      }
    }
    return capability;
  };
  return provider;
}

PartitionProvider Answering(std::string name, std::function<Capability(Graph&)> answer) {
  return {std::move(name), "device", std::move(answer)};
}

PartitionResult Split(Graph& graph, std::vector<PartitionProvider> providers, std::string_view prefix = "") {
  return PartitionGraph(graph, providers, prefix);
}

const NodePlacement& Entry(const PartitionResult& result, std::string_view name, std::string_view graph = "") {
  for (const NodePlacement& node : result.placement.nodes) {
    if (node.name == name && node.graph == graph) return node;
  }
  throw std::runtime_error("no entry for " + std::string(name));
}

std::unique_ptr<Graph> Chain() {
  return ParseGraph(R"(
    in    x: float[2]
    const w: float[2] = 1 2
    a:float[2] = Relu(x)
    b:float[2] = Add(a, w)
    c:float[2] = Custom(b)
    d:float[2] = Relu(c)
    out   d
  )");
}

Attribute Body(std::unique_ptr<Graph> body, std::string name = "then_branch") {
  return Attribute::Subgraph(std::move(name), std::move(body));
}

// The graph y = If(c) { t = Relu(x); inner = Add(t, w) }, z = Neg(y).
std::unique_ptr<Graph> GraphWithIf() {
  auto graph = ParseGraph(R"(
    in    c: bool
    in    x: float[2]
    const w: float[2] = 1 2
    z = Neg(y)
    out   z
  )");
  auto body = std::make_unique<Graph>("then body");
  ValueDef* t = body->AddValue("t");
  ValueDef* inner = body->AddValue("inner");
  body->AddNode("Relu", "", 14, {body->AddOuterScope(graph->FindValue("x"))}, {t}, {}, "t");
  body->AddNode("Add", "", 14, {t, body->AddOuterScope(graph->FindValue("w"))}, {inner}, {}, "inner");
  body->SetOutputs({inner});
  std::vector<Attribute> attributes;
  attributes.push_back(Body(std::move(body)));
  graph->AddNode("If", "", 13, {graph->FindValue("c")}, {graph->FindValue("y")}, std::move(attributes), "if_1");
  return graph;
}

TEST(Partitioner, AProviderOfEverythingGetsOnePartition) {
  auto graph = Chain();
  const PartitionResult result = Split(*graph, {Supporting("cpu", {"Relu", "Add", "Custom"})});
  ASSERT_EQ(result.partitions.size(), 1u);
  const Partition& partition = result.partitions[0];
  EXPECT_EQ(partition.name, "test_cpu_0");
  EXPECT_EQ(partition.provider, 0);
  EXPECT_FALSE(partition.is_context);
  EXPECT_EQ(Print(*partition.graph), "a = Relu(x)\nb = Add(a, w)\nc = Custom(b)\nd = Relu(c)\n");
  EXPECT_EQ(Print(*graph), "d = epiphyte.internal::Partition(x)\n");
  EXPECT_EQ(partition.node->provider, 0);
  EXPECT_EQ(partition.node->name(), "test_cpu_0");
  EXPECT_EQ(graph->FindValue("w"), nullptr) << "only the partition needs the constant";
  EXPECT_NE(partition.graph->FindValue("w"), nullptr);
}

TEST(Partitioner, FirstComeFirstServed) {
  auto graph = Chain();
  const PartitionResult result =
      Split(*graph, {Supporting("npu", {"Add", "Custom"}), Supporting("cpu", {"Relu", "Add", "Custom"})});
  EXPECT_EQ(Entry(result, "a").provider, "cpu");
  EXPECT_EQ(Entry(result, "b").provider, "npu");
  EXPECT_EQ(Entry(result, "c").provider, "npu");
  EXPECT_EQ(Entry(result, "c").device, "npu_device");
  EXPECT_EQ(Entry(result, "d").provider, "cpu");
  EXPECT_EQ(Print(*graph),
            "a = epiphyte.internal::Partition(x)\n"
            "c = epiphyte.internal::Partition(a)\n"
            "d = epiphyte.internal::Partition(c)\n");
  EXPECT_THAT(result.placement.Summary(), "4 nodes: npu 2 in 1 partition, cpu 2 in 2 partitions");
}

TEST(Partitioner, ClaimedNodesAreNotAskedForAgain) {
  auto graph = Chain();
  int placed_seen = 0;
  Split(*graph, {Supporting("npu", {"Add"}), Answering("cpu", [&](Graph& view) {
                   for (const auto& node : view.nodes()) placed_seen += node->provider != kUnplaced ? 1 : 0;
                   return Capability{};
                 })});
  EXPECT_EQ(placed_seen, 1);

  auto taken = Chain();
  bool asked = false;
  Split(*taken, {Supporting("npu", {"Relu", "Add", "Custom"}), Answering("cpu", [&](Graph&) {
                   asked = true;
                   return Capability{};
                 })});
  EXPECT_FALSE(asked) << "nothing was left to ask for";
}

TEST(Partitioner, SaysWhyOthersDeclined) {
  auto graph = Chain();
  const PartitionResult result =
      Split(*graph, {Supporting("npu", {"Add"}), Answering("silent", [](Graph&) { return Capability{}; }),
                     Supporting("cpu", {"Relu"})});
  const NodePlacement& custom = Entry(result, "c");
  EXPECT_EQ(custom.provider, "");
  ASSERT_EQ(custom.declines.size(), 3u);
  EXPECT_EQ(custom.declines[0].provider, "npu");
  EXPECT_EQ(custom.declines[0].reason, "no kernel for Custom");
  EXPECT_EQ(custom.declines[1].reason, "no reason given");
  EXPECT_EQ(Entry(result, "b").declines.size(), 0u);
  EXPECT_EQ(FindNode(*graph, "c")->provider, kUnplaced) << "it stays, for the session to decide";
}

TEST(Partitioner, NamesAreUniqueCleanAndRepeatable) {
  for (int run = 0; run < 2; ++run) {
    auto graph = Chain();
    graph->set_name("my graph/ü");
    const PartitionResult result = Split(*graph, {Supporting("E P", {"Relu"})}, "pre_");
    ASSERT_EQ(result.partitions.size(), 2u);
    EXPECT_EQ(result.partitions[0].name, "pre_my_graph____E_P_0");
    EXPECT_EQ(result.partitions[1].name, "pre_my_graph____E_P_1");
  }
  auto unnamed = Chain();
  unnamed->set_name("");
  EXPECT_EQ(Split(*unnamed, {Supporting("cpu", {"Relu"})}).partitions[0].name, "graph_cpu_0");
}

TEST(Partitioner, NamesThatAreTakenAreNotGivenAgain) {
  auto graph = Chain();
  std::vector<PartitionProvider> providers = {Supporting("cpu", {"Relu"})};
  PartitionNames names;
  names.Take("p_test_cpu_0");
  names.Take("p_test_cpu_2");
  const PartitionResult result = PartitionGraph(*graph, providers, "p_", names);
  ASSERT_EQ(result.partitions.size(), 2u);
  EXPECT_EQ(result.partitions[0].name, "p_test_cpu_1");
  EXPECT_EQ(result.partitions[1].name, "p_test_cpu_3");
}

// Name "test" with provider "a_cpu" gives the same text as name "test_a" with provider "cpu".
TEST(PartitionNames, TheSameTextFromOtherPartsGetsAnotherNumber) {
  PartitionNames names;
  EXPECT_EQ(names.Next("", "test", "a_cpu"), "test_a_cpu_0");
  EXPECT_EQ(names.Next("", "test_a", "cpu"), "test_a_cpu_1");
  EXPECT_EQ(names.Next("test_", "a", "cpu"), "test_a_cpu_2");
}

TEST(Partitioner, ConstantsThatOthersNeedStay) {
  auto graph = ParseGraph(R"(
    in    x: float[2]
    const w: float[2] = 1 2
    const v: float[2] = 3 4
    const unused: float[2] = 5 6
    a:float[2] = Add(x, w)
    b:float[2] = Custom(a, w)
    out   b, v
  )");
  Split(*graph, {Supporting("cpu", {"Add"})});
  EXPECT_NE(graph->FindValue("w"), nullptr);
  EXPECT_NE(graph->FindValue("v"), nullptr) << "a graph output";
  EXPECT_EQ(graph->FindValue("unused"), nullptr);
}

TEST(Partitioner, GroupsClaimedTogetherStayTogether) {
  auto graph = Chain();
  const PartitionResult result = Split(*graph, {Answering("npu", [](Graph& view) {
    Capability capability;
    capability.units.push_back({FindNode(view, "b"), FindNode(view, "c")});
    return capability;
  })});
  ASSERT_EQ(result.partitions.size(), 1u);
  EXPECT_EQ(Print(*result.partitions[0].graph), "b = Add(a, w)\nc = Custom(b)\n");
}

TEST(Partitioner, AGroupThatWouldMakeACycleIsDroppedWithAWarning) {
  auto graph = Chain();
  const PartitionResult result = Split(*graph, {Answering("npu", [](Graph& view) {
    Capability capability;
    capability.units.push_back({FindNode(view, "a"), FindNode(view, "d")});
    return capability;
  })});
  EXPECT_THAT(result.partitions, IsEmpty());
  EXPECT_THAT(result.placement.warnings, ElementsAre(HasSubstr("npu: group of 2 nodes with Relu node 'a' dropped")));
}

TEST(Partitioner, ClaimsThatMakeNoSenseAreDropped) {
  auto graph = Chain();
  Graph other("other");
  Node* foreign = other.AddNode("Relu", "", 14, {}, {other.AddValue("y")}, {}, "foreign");
  const PartitionResult result = Split(*graph, {Supporting("npu", {"Add"}), Answering("bad", [&](Graph& view) {
                                                  Capability capability;
                                                  Node* placed = nullptr;
                                                  for (const auto& node : view.nodes())
                                                    placed = node->provider == 0 ? node.get() : placed;
                                                  capability.units = {{foreign},
                                                                      {placed},
                                                                      {FindNode(view, "a"), FindNode(view, "a")},
                                                                      {},
                                                                      {FindNode(view, "c")},
                                                                      {FindNode(view, "c")}};
                                                  capability.declined.emplace_back(foreign, "not mine");
                                                  return capability;
                                                })});
  EXPECT_EQ(result.placement.warnings.size(), 4u);
  EXPECT_EQ(Entry(result, "a").provider, "");
  EXPECT_EQ(Entry(result, "c").provider, "bad") << "the first claim on a node counts";
}

TEST(Partitioner, BodiesThatWereNotClaimedWholeArePartitioned) {
  auto graph = GraphWithIf();
  const PartitionResult result = Split(*graph, {Supporting("npu", {"Add"}), Supporting("cpu", {"Relu", "Neg"})});
  EXPECT_TRUE(Entry(result, "if_1").is_run_by_host);
  EXPECT_EQ(Entry(result, "t", "if_1/then_branch").provider, "cpu");
  EXPECT_EQ(Entry(result, "inner", "if_1/then_branch").provider, "npu");
  const Node* node = FindNode(*graph, "if_1");
  EXPECT_EQ(node->provider, kUnplaced);
  const Graph& body = *node->subgraphs()[0];
  EXPECT_EQ(Print(body), "t = epiphyte.internal::Partition(x)\ninner = epiphyte.internal::Partition(t)\n");
  EXPECT_EQ(node->implicit_inputs(), std::vector<ValueDef*>{graph->FindValue("x")}) << "w went into the partition";
  EXPECT_EQ(graph->FindValue("w"), nullptr);
  EXPECT_THAT(result.placement.Summary(), HasSubstr("4 nodes: npu 1 in 1 partition, cpu 2 in 2 partitions, (host) 1"));
  for (const Partition& partition : result.partitions) {
    EXPECT_TRUE(partition.name == "then_body_npu_0" || partition.name == "then_body_cpu_0" ||
                partition.name == "test_cpu_0")
        << partition.name;
  }
}

TEST(Partitioner, ANodeWithBodiesMayBeTakenWhole) {
  auto graph = GraphWithIf();
  const PartitionResult result = Split(*graph, {Supporting("cpu", {"If", "Neg", "Relu", "Add"})});
  ASSERT_EQ(result.partitions.size(), 1u);
  EXPECT_EQ(Print(*graph), "z = epiphyte.internal::Partition(c, x)\n");
  const Node* taken = FindNode(*result.partitions[0].graph, "if_1");
  EXPECT_EQ(Print(*taken->subgraphs()[0]), "t = Relu(x)\ninner = Add(t, w)\n");
  EXPECT_EQ(Entry(result, "inner", "if_1/then_branch").provider, "cpu");
  EXPECT_EQ(Entry(result, "inner", "if_1/then_branch").partition, "test_cpu_0");
  EXPECT_EQ(result.placement.nodes.size(), 4u);
}

TEST(Partitioner, UnnamedNodesGetAPathFromTheirOperator) {
  auto graph = GraphWithIf();
  graph->Finalize();
  FindNode(*graph, "if_1")->set_name("");
  const PartitionResult result = Split(*graph, {Supporting("cpu", {"Relu"})});
  EXPECT_EQ(Entry(result, "t", "if_0/then_branch").provider, "cpu");
}

std::unique_ptr<Graph> GraphWithContext() {
  return ParseGraph(R"(
    in  x: float[2]
    a:float[2] = Relu(x)
    b:float[2] = com.microsoft::EPContext(a)
    c:float[2] = Relu(b)
    out c
  )");
}

TEST(Partitioner, ContextNodesAreTakenOverAsPartitions) {
  auto graph = GraphWithContext();
  FindNode(*graph, "b")->provider = 1;
  const PartitionResult result = Split(*graph, {Supporting("cpu", {"Relu", "EPContext"}), Supporting("npu", {})});
  ASSERT_EQ(result.partitions.size(), 3u);
  const auto context =
      std::find_if(result.partitions.begin(), result.partitions.end(), [](const Partition& p) { return p.is_context; });
  ASSERT_NE(context, result.partitions.end());
  EXPECT_EQ(context->provider, 1);
  EXPECT_EQ(context->node, FindNode(*graph, "b"));
  EXPECT_EQ(context->graph, nullptr);
  EXPECT_EQ(Entry(result, "b").provider, "npu");
  EXPECT_EQ(Entry(result, "a").partition, "test_cpu_0");
  EXPECT_EQ(Entry(result, "c").partition, "test_cpu_1") << "a context node can't be fused over";
}

TEST(Partitioner, PartitionsAreCalledLikeNoNode) {
  auto graph = GraphWithContext();
  Node* context = FindNode(*graph, "b");
  context->provider = 0;
  context->set_name("test_cpu_0");
  context->SetAttribute(Attribute::String("partition_name", "test_cpu_1"));
  const PartitionResult result = Split(*graph, {Supporting("cpu", {"Relu"})});
  std::vector<std::string> made;
  for (const Partition& partition : result.partitions) {
    if (!partition.is_context) made.push_back(partition.name);
  }
  EXPECT_THAT(made, ElementsAre("test_cpu_2", "test_cpu_3"));
}

TEST(Partitioner, ALastResortGetsWhatAllOthersLeave) {
  auto graph = Chain();
  PartitionProvider last = Supporting("npu", {"Relu", "Add", "Custom"});
  last.last_resort = true;
  const PartitionResult result = Split(*graph, {last, Supporting("cpu", {"Relu", "Add"})});
  EXPECT_EQ(Entry(result, "a").provider, "cpu");
  EXPECT_EQ(Entry(result, "b").provider, "cpu");
  EXPECT_EQ(Entry(result, "c").provider, "npu");
  EXPECT_EQ(Entry(result, "d").provider, "cpu");
}

TEST(Partitioner, ALastResortIsNotAskedForNothing) {
  auto graph = Chain();
  bool asked = false;
  PartitionProvider last = Answering("npu", [&](Graph&) {
    asked = true;
    return Capability();
  });
  last.last_resort = true;
  Split(*graph, {last, Supporting("cpu", {"Relu", "Add", "Custom"})});
  EXPECT_FALSE(asked);
}

TEST(Partitioner, ALastResortDoesNotTakeWhatTheCoreRuns) {
  auto graph = GraphWithIf();
  PartitionProvider last = Supporting("npu", {"If", "Neg", "Relu", "Add"});
  last.last_resort = true;
  const PartitionResult result = Split(*graph, {last, Supporting("cpu", {"Neg", "Relu"})});
  EXPECT_TRUE(Entry(result, "if_1").is_run_by_host);
  EXPECT_EQ(Entry(result, "t", "if_1/then_branch").provider, "cpu");
  EXPECT_EQ(Entry(result, "inner", "if_1/then_branch").provider, "npu");
  EXPECT_THAT(result.placement.warnings, IsEmpty());
}

TEST(Partitioner, ContextNodesCannotBeClaimed) {
  auto graph = GraphWithContext();
  const PartitionResult result = Split(*graph, {Supporting("cpu", {"EPContext"})});
  EXPECT_THAT(result.partitions, IsEmpty());
  EXPECT_EQ(Entry(result, "b").provider, "");
  EXPECT_EQ(result.placement.warnings.size(), 1u);

  auto outer = GraphWithIf();
  Graph& body = *FindNode(*outer, "if_1")->subgraphs()[0];
  body.AddNode("EPContext", "com.microsoft", 1, {body.FindValue("t")}, {body.AddValue("unused")});
  const PartitionResult nested = Split(*outer, {Supporting("cpu", {"If", "Neg", "Relu", "Add"})});
  EXPECT_TRUE(Entry(nested, "if_1").is_run_by_host) << "what holds a context node stays with the host";
}

TEST(Partitioner, APartitionWithoutUsedOutputsIsFine) {
  auto graph = ParseGraph(R"(
    in  x: float[2]
    a:float[2] = Relu(x)
    b:float[2] = Custom(x)
    out b
  )");
  const PartitionResult result = Split(*graph, {Supporting("cpu", {"Relu"})});
  ASSERT_EQ(result.partitions.size(), 1u);
  EXPECT_TRUE(result.partitions[0].node->outputs().empty());
}

TEST(Partitioner, WarningsOfProvidersAreKept) {
  auto graph = Chain();
  const PartitionResult result = Split(*graph, {Answering("npu", [](Graph&) {
    Capability capability;
    capability.warnings = {"npu: claim 3 is not of this graph"};
    return capability;
  })});
  EXPECT_THAT(result.placement.warnings, ElementsAre("npu: claim 3 is not of this graph"));
}

TEST(Partitioner, AHundredThousandNodesInAHundredThousandPartitions) {
  Graph graph("long");
  ValueDef* value = graph.AddInput("x", Type::Tensor(DataType::kFloat));
  for (int i = 0; i < 100000; ++i) {
    ValueDef* next = graph.AddValue("v" + std::to_string(i));
    graph.AddNode(i % 2 == 0 ? "Relu" : "Add", "", 14, {value}, {next});
    value = next;
  }
  graph.SetOutputs({value});
  const PartitionResult result = Split(graph, {Supporting("npu", {"Relu"}), Supporting("cpu", {"Relu", "Add"})});
  EXPECT_EQ(result.partitions.size(), 100000u);
  EXPECT_TRUE(result.placement.edges.empty()) << "nobody looks at such a picture";
  EXPECT_EQ(result.placement.Summary(), "100000 nodes: npu 50000 in 50000 partitions, cpu 50000 in 50000 partitions");
}

}  // namespace
}  // namespace epiphyte::test
