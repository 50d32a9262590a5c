// Graphs in containers: each is read back unchanged, with its bytes in place. For any file the result is a graph that
// has passed ir::Check, or an error of one line.
#include "epiphyte/kit/container/graph.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "epiphyte/kit/graph/text.hpp"
#include "tests/plugin_api/container/container_fixture.h"

namespace epiphyte::test {
namespace {

namespace ir = kit::ir;
using kit::ContainerDigests;
using kit::ContextContainer;
using kit::ContextContainerBuilder;
using kit::GraphCheck;
using kit::PackedData;
using kit::StoredGraph;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kText = R"(graph "part_0"
in x: float[1,3,-1,4]
in s: string[2]
const w: float[2,2] = [1, 2.5, -3, 4]
const b: bool[3] = [1, 0, 1]
const i: int64[2] = [-1, 9000000000]
const t: string[2] = ["a", "bc"]
const e: float[0] = []
y, _ = Conv@11<kernel_shape=[1,1], auto_pad="NOTSET", alpha=0.5, scales=[1.5,2.5], names=["p","q"]>(x, w, _) : float[1,2,-1,4], ?
z = epiphyte.kit::Tail<code=[6,0,-1]>(y, b, i, t, e, s) : float
out z
)";

ir::Graph Graph() { return ir::FromText(kText); }

std::string Written(const ir::Graph& graph, std::span<const PackedData> packed = {}) {
  ContextContainerBuilder builder(kTestFormat);
  kit::AddGraph(builder, graph, packed);
  return BytesOf(builder);
}

std::string Read(const std::string& bytes, std::string_view name = "part_0", GraphCheck check = GraphCheck::kNow) {
  const Blob blob(bytes);
  return OutcomeOf([&] {
    const ContextContainer container(blob, kTestFormat);
    kit::ReadGraph(container, name, check);
  });
}

TEST(StoredGraph, ComesBackAsItWas) {
  const Blob blob(Written(Graph()));
  const ContextContainer container(blob, kTestFormat);
  const StoredGraph stored = kit::ReadGraph(container, "part_0");
  EXPECT_EQ(ir::ToText(stored.graph, 100), ir::ToText(Graph(), 100));
  EXPECT_THAT(ir::ToText(stored.graph, 100), HasSubstr("9000000000"));
  EXPECT_TRUE(stored.packed.empty());
  for (const ir::Constant& constant : stored.graph.constants)
    EXPECT_EQ(constant.storage, ir::Constant::Storage::kOwned);
}

TEST(StoredGraph, WhatIsReadGivesTheSameBytesAgain) {
  const std::string bytes = Written(Graph());
  const Blob blob(bytes);
  EXPECT_EQ(Written(kit::ReadGraph(ContextContainer(blob, kTestFormat), "part_0").graph), bytes);
}

// A node with bodies can't be stored: only the type of the body's attribute would be kept.
TEST(StoredGraph, NodesWithBodiesAreRefused) {
  for (const EpAttributeType type : {EP_ATTRIBUTE_GRAPH, EP_ATTRIBUTE_GRAPHS}) {
    ir::Graph graph = Graph();
    ir::Attribute body;
    body.name = "then_branch";
    body.type = type;
    graph.nodes[0].attributes.push_back(body);
    EXPECT_THAT(OutcomeOf([&] { Written(graph); }),
                AllOf(StartsWith("code 2: "),
                      HasSubstr("(Conv) has a body in attribute 'then_branch', and stored graphs have none; leave such "
                                "nodes to the host, or store them in a form of your own")));
  }
}

TEST(StoredGraph, ABodyInAContextIsDamage) {
  ir::Graph graph = Graph();
  ir::Attribute attribute;
  attribute.name = "then_branch";
  attribute.type = EP_ATTRIBUTE_INT;
  graph.nodes[0].attributes.push_back(attribute);
  std::string bytes = Written(graph);
  const size_t name = bytes.find("then_branch");
  ASSERT_NE(name, std::string::npos);
  const EpAttributeType type = EP_ATTRIBUTE_GRAPH;
  std::memcpy(&bytes[name + attribute.name.size()], &type, sizeof(type));
  for (const GraphCheck check : {GraphCheck::kNow, GraphCheck::kLater}) {
    EXPECT_THAT(Read(Sealed(bytes), "part_0", check),
                HasSubstr("(Conv) has a body in attribute 'then_branch', and stored graphs have none"));
  }
}

TEST(StoredGraph, TensorsOfAttributesComeBack) {
  ir::Graph graph = Graph();
  const auto data = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{7, 8, 9});
  ir::Attribute attribute;
  attribute.name = "value";
  attribute.type = EP_ATTRIBUTE_TENSOR;
  attribute.tensors.push_back({EP_TYPE_INT32, {3}, data->data(), {}});
  attribute.tensor_data.push_back(data);
  graph.nodes[1].attributes.push_back(attribute);
  for (size_t shift : {0, 5}) {
    const Blob blob(Written(graph), shift);
    StoredGraph stored;
    {
      const ContextContainer container(blob, kTestFormat);
      stored = kit::ReadGraph(container, "part_0");
    }
    const ir::Tensor* const tensor = stored.graph.nodes[1].TensorOf("value");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(std::vector<int32_t>(tensor->as<int32_t>(), tensor->as<int32_t>() + 3), *data);
  }
}

// Small constants may control what a plugin computes, so they are copied. Large constants are weights.
ir::Graph GraphWithWeights() {
  ir::Graph graph = Graph();
  static const std::vector<float> weights(8192, 2.5f);
  ir::Tensor& w = graph.constants[0].tensor;
  w.dims = {128, 64};
  w.data = weights.data();
  return graph;
}

TEST(StoredGraph, WeightsAreUsedWhereTheyLie) {
  const Blob blob(Written(GraphWithWeights()));
  const std::span<const std::byte> whole = blob;
  const StoredGraph stored = kit::ReadGraph(ContextContainer(blob, kTestFormat), "part_0", GraphCheck::kLater);
  const ir::Tensor& w = stored.graph.constants[0].tensor;
  EXPECT_EQ(w.as<float>()[1], 2.5f);
  EXPECT_GE(w.as<std::byte>(), whole.data());
  EXPECT_LE(w.as<std::byte>() + w.Bytes(), whole.data() + whole.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w.data) % 64, 0u);
  EXPECT_EQ(stored.graph.constants[0].owner, nullptr);
}

TEST(StoredGraph, TheCopyOfBytesThatLieBadlyLivesAsLongAsTheGraph) {
  const Blob blob(Written(Graph()), 3);
  const StoredGraph stored = kit::ReadGraph(ContextContainer(blob, kTestFormat), "part_0");
  EXPECT_NE(stored.graph.constants[0].owner, nullptr);
  EXPECT_EQ(ir::ToText(stored.graph, 100), ir::ToText(Graph(), 100));
}

TEST(StoredGraph, PackedDataComesBackWithItsNode) {
  const std::string bytes(1000, 'p');
  const PackedData packed[] = {{0, "w", "blocked;8", bytes.data(), bytes.size(), nullptr},
                               {1, "w", "", nullptr, 0, nullptr},
                               {1, "v", "plain", bytes.data(), bytes.size(), nullptr}};
  const Blob blob(Written(Graph(), packed));
  const StoredGraph stored = kit::ReadGraph(ContextContainer(blob, kTestFormat), "part_0");
  ASSERT_EQ(stored.packed.size(), 3u);
  EXPECT_EQ(stored.packed[0].node, 0);
  EXPECT_EQ(stored.packed[0].key, "w");
  EXPECT_EQ(stored.packed[0].format, "blocked;8");
  EXPECT_EQ(std::string_view(static_cast<const char*>(stored.packed[0].data), stored.packed[0].bytes), bytes);
  EXPECT_EQ(stored.packed[1].bytes, 0u);
  EXPECT_EQ(stored.packed[2].data, stored.packed[0].data) << "equal bytes are stored once";
}

TEST(StoredGraph, ADroppedConstantKeepsItsType) {
  ir::Graph graph = Graph();
  graph.constants[0].storage = ir::Constant::Storage::kDropped;
  graph.constants[0].tensor.data = nullptr;
  const Blob blob(Written(graph));
  const StoredGraph stored = kit::ReadGraph(ContextContainer(blob, kTestFormat), "part_0");
  EXPECT_EQ(stored.graph.constants[0].storage, ir::Constant::Storage::kDropped);
  EXPECT_EQ(stored.graph.constants[0].tensor.data, nullptr);
  EXPECT_EQ(stored.graph.constants[0].tensor.dims, (kit::Dims{2, 2}));
}

TEST(StoredGraph, SeveralGraphsShareEqualConstants) {
  ContextContainerBuilder builder(kTestFormat);
  const ir::Graph first = Graph();
  ir::Graph second = Graph();
  second.name = "a/b \"c\"";
  kit::AddGraph(builder, first);
  builder.Add("grapheme", std::string("none"));
  kit::AddGraph(builder, second);
  const Blob blob(BytesOf(builder));
  const ContextContainer container(blob, kTestFormat);
  EXPECT_THAT(kit::GraphNames(container), ElementsAre("a/b \"c\"", "part_0"));
  EXPECT_TRUE(kit::HasGraph(container, "part_0"));
  EXPECT_FALSE(kit::HasGraph(container, "part"));
  EXPECT_EQ(kit::ReadGraph(container, "part_0").graph.constants[0].tensor.data,
            kit::ReadGraph(container, second.name).graph.constants[0].tensor.data);
  EXPECT_THAT(OutcomeOf([&] { kit::AddGraph(builder, second); }), HasSubstr("two sections"));
}

TEST(StoredGraph, AGraphThatIsNotThereIsNamed) {
  EXPECT_EQ(Read(Written(Graph()), "part_1"),
            "INVALID_GRAPH: the test's context is damaged: it has no section 'graph/part_1'; compile the model again");
}

// The section of a graph may be large, but its digest is always compared.
TEST(StoredGraph, AFlipInALargeGraphIsSeen) {
  ir::Graph graph = Graph();
  graph.nodes[0].name = std::string(300 << 10, 'n');
  std::string bytes = Written(graph);
  bytes[bytes.find("nnnnnn") + 9] = 'm';
  EXPECT_THAT(Read(bytes), HasSubstr("were changed"));
}

TEST(StoredGraph, WhatIsNoGraphIsRefusedAndNamed) {
  const auto refused = [](const char* what, const auto& change) {
    ir::Graph graph = Graph();
    std::vector<PackedData> packed = {{0, "w", "f", "x", 1, nullptr}};
    change(graph, packed);
    const std::string bytes = Written(graph, packed);
    EXPECT_THAT(Read(bytes), AllOf(StartsWith("INVALID_GRAPH: the test's context is damaged: graph 'part_0': "),
                                   EndsWith("; compile the model again")))
        << what;
  };
  using Packed = std::vector<PackedData>;
  refused("an operand that isn't there", [](ir::Graph& g, Packed&) { g.nodes[1].inputs[0] = 99; });
  refused("a value that is made twice", [](ir::Graph& g, Packed&) { g.nodes[1].outputs = g.nodes[0].outputs; });
  refused("an output that nothing makes", [](ir::Graph& g, Packed&) { g.outputs = {-7}; });
  refused("a type that is none", [](ir::Graph& g, Packed&) { g.values[0].type = 99; });
  refused("a constant of a value that isn't there", [](ir::Graph& g, Packed&) { g.constants[0].value = 99; });
  refused("a bool that is none", [](ir::Graph& g, Packed&) { g.constants[1].tensor.data = "\1\2\1"; });
  refused("packed data of no node", [](ir::Graph&, Packed& p) { p[0].node = 2; });
  refused("packed data of node -1", [](ir::Graph&, Packed& p) { p[0].node = -1; });
  refused("packed data twice", [](ir::Graph&, Packed& p) { p.push_back(p[0]); });
}

TEST(StoredGraph, ItsOwnNameIsThatOfItsSection) {
  std::string bytes = Written(Graph());
  bytes.replace(bytes.find("graph/part_0"), 12, "graph/part_9");
  EXPECT_THAT(Read(Sealed(bytes), "part_9"), HasSubstr("its name is 'part_0'"));
}

// With matching digests, every byte of the description is changed: sizes, counts, numbers of sections and values.
TEST(StoredGraph, ChangedDescriptionsAreGraphsOrRefused) {
  const std::string bytes = Written(Graph());
  const size_t begin = bytes.rfind("part_0") - 4;
  const auto is_graph_or_refusal = testing::AnyOf(testing::Eq("OK"), EndsWith("compile the model again"));
  int refused = 0, tried = 0;
  for (size_t at = begin; at < bytes.size(); ++at) {
    for (int flip : {0x01, 0x04, 0x80, 0xFF}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const std::string outcome = Read(Sealed(changed));
      ASSERT_THAT(outcome, is_graph_or_refusal) << at;
      ASSERT_EQ(outcome.find('\n'), std::string::npos) << outcome;
      refused += outcome == "OK" ? 0 : 1;
      ++tried;
      // With kLater the caller checks indices and sizes. Therefore kLater must accept every graph that kNow accepts.
      const std::string later = Read(Sealed(changed), "part_0", GraphCheck::kLater);
      ASSERT_THAT(later, is_graph_or_refusal) << at;
      if (outcome == "OK") ASSERT_EQ(later, "OK") << at;
    }
  }
  EXPECT_GT(refused, tried / 4);
}

TEST(StoredGraph, ACountBeyondTheBytesIsRefusedBeforeThereIsMemoryForIt) {
  const std::string bytes = Written(Graph());
  const size_t begin = bytes.rfind("part_0") - 4;
  int refused = 0, tried = 0;
  for (size_t at = begin; at + 4 <= bytes.size(); ++at) {
    for (uint32_t count : {UINT32_MAX, UINT32_MAX / 2, 1u << 24}) {
      std::string changed = bytes;
      std::memcpy(changed.data() + at, &count, sizeof(count));
      const std::string outcome = Read(Sealed(std::move(changed)));
      // Four bytes that belong to one of the model's numbers may have any value.
      ASSERT_THAT(outcome, testing::AnyOf(testing::Eq("OK"), EndsWith("compile the model again"))) << at;
      refused += outcome == "OK" ? 0 : 1;
      ++tried;
    }
  }
  EXPECT_GT(refused, tried / 4);
}

}  // namespace
}  // namespace epiphyte::test
