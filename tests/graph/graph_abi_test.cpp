// The C ABI's view of a graph, as plugins get it.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

using namespace core;

EpValueDefInfo Info(const ValueDef* value) {
  EpValueDefInfo info{};
  info.struct_size = sizeof info;
  FillValueDefInfo(*value, &info);
  return info;
}

TEST(GraphAbi, AGraphTellsAllInOneCall) {
  auto graph = ParseGraph(R"(
    opset 17
    in    x: float[2]
    const w: float[2] = 1 2
    y:float[2] = Add<axis=1>(x, w)
    z, _ = Dropout(y, _)
    out   z
  )");
  EpGraphInfo info{};
  info.struct_size = sizeof info;
  graph->FillAbi(&info);
  EXPECT_STREQ(info.name, "test");
  ASSERT_EQ(info.node_count, 2u);
  ASSERT_EQ(info.input_count, 1u);
  ASSERT_EQ(info.output_count, 1u);
  ASSERT_EQ(info.constant_count, 1u);
  EXPECT_EQ(FromAbi(info.constants[0]), graph->FindValue("w"));
  ASSERT_EQ(info.opset_count, 1u);
  EXPECT_STREQ(info.opset_domains[0], "");
  EXPECT_EQ(info.opset_versions[0], 17);
  EXPECT_EQ(info.parent, nullptr);

  EpNodeInfo node{};
  node.struct_size = sizeof node;
  FillNodeInfo(*FromAbi(info.nodes[0]), &node);
  EXPECT_STREQ(node.op_type, "Add");
  EXPECT_EQ(node.since_version, 13);
  ASSERT_EQ(node.input_count, 2u);
  EXPECT_EQ(node.inputs[1], info.constants[0]);
  ASSERT_EQ(node.attribute_count, 1u);
  EXPECT_EQ(FromAbi(node.attributes[0])->name(), "axis");
  FillNodeInfo(*FromAbi(info.nodes[1]), &node);
  ASSERT_EQ(node.output_count, 2u);
  EXPECT_EQ(node.outputs[1], nullptr) << "an optional output left out";
}

TEST(GraphAbi, ValuesSayWhatTheyAre) {
  auto graph = ParseGraph(R"(
    in    x: float[2]
    const w: float[2] = 1 2
    y = Add(x, w)
    out   y
  )");
  EXPECT_EQ(Info(graph->FindValue("x")).flags, EP_VALUE_GRAPH_INPUT);
  EXPECT_EQ(Info(graph->FindValue("w")).flags, EP_VALUE_CONSTANT);
  EXPECT_EQ(Info(graph->FindValue("w")).constant->byte_size, 8u);
  const EpValueDefInfo y = Info(graph->FindValue("y"));
  EXPECT_EQ(y.flags, EP_VALUE_GRAPH_OUTPUT);
  EXPECT_EQ(y.type->kind, EP_KIND_UNKNOWN) << "never null";
  EXPECT_EQ(FromAbi(y.producer), graph->nodes()[0].get());
  EXPECT_EQ(Info(graph->FindValue("x")).consumer_count, 1u);
}

TEST(GraphAbi, AStandInForAConstantShowsItsData) {
  auto graph = ParseGraph(R"(
    const w: float[2] = 1 2
    in    condition: bool
    out   y
  )");
  auto body = std::make_unique<Graph>("body");
  ValueDef* stand_in = body->AddOuterScope(graph->FindValue("w"));
  body->SetOutputs({stand_in});
  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Subgraph("then_branch", std::move(body)));
  const Node* node =
      graph->AddNode("If", "", 13, {graph->FindValue("condition")}, {graph->FindValue("y")}, std::move(attributes));
  const EpValueDefInfo info = Info(stand_in);
  EXPECT_EQ(info.flags, EP_VALUE_OUTER_SCOPE | EP_VALUE_CONSTANT | EP_VALUE_GRAPH_OUTPUT);
  EXPECT_EQ(info.constant, graph->FindValue("w")->constant()->abi());

  EpNodeInfo node_info{};
  node_info.struct_size = sizeof node_info;
  FillNodeInfo(*node, &node_info);
  ASSERT_EQ(node_info.implicit_input_count, 1u);
  EXPECT_EQ(FromAbi(node_info.implicit_inputs[0]), graph->FindValue("w"));
  ASSERT_EQ(node_info.subgraph_count, 1u);
  EpGraphInfo body_info{};
  body_info.struct_size = sizeof body_info;
  FromAbi(node_info.subgraphs[0])->FillAbi(&body_info);
  EXPECT_EQ(FromAbi(body_info.parent), node);
}

TEST(GraphAbi, PlacedNodesAreMarked) {
  auto graph = ParseGraph(R"(
    in  x: float
    y = Relu(x)
    out y
  )");
  EpNodeInfo info{};
  info.struct_size = sizeof info;
  FillNodeInfo(*graph->nodes()[0], &info);
  EXPECT_EQ(info.flags, 0u);
  graph->nodes()[0]->provider = 0;
  FillNodeInfo(*graph->nodes()[0], &info);
  EXPECT_EQ(info.flags, EP_NODE_PLACED);
}

// A plugin of an older ABI has a shorter struct, and one of a newer ABI a longer struct.
TEST(GraphAbi, FillsAsFarAsStructSizeReaches) {
  auto graph = ParseGraph(R"(
    in  x: float
    y = Relu(x)
    out y
  )");
  struct Newer {
    EpNodeInfo info;
    uint64_t later = 42;
  } newer;
  newer.info = {};
  newer.info.struct_size = sizeof newer;
  FillNodeInfo(*graph->nodes()[0], &newer.info);
  EXPECT_EQ(newer.info.struct_size, sizeof newer.info) << "so far it is filled";
  EXPECT_EQ(newer.later, 42u);
  EXPECT_EQ(newer.info.input_count, 1u);

  for (const uint32_t size : {0u, 3u, 4u, static_cast<uint32_t>(offsetof(EpNodeInfo, inputs))}) {
    EpNodeInfo small{};
    small.struct_size = size;
    EXPECT_THROW(FillNodeInfo(*graph->nodes()[0], &small), core::Error);
    EXPECT_EQ(small.struct_size, size);
    EXPECT_EQ(small.op_type, nullptr) << "nothing is filled";
  }
}

}  // namespace
}  // namespace epiphyte::test
