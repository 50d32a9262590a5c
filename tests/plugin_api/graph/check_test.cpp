// Check refuses invalid graphs with a message that gives the reason. SortNodes puts nodes into executable order.
#include "epiphyte/kit/graph/check.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/text.hpp"

namespace epiphyte::test {
namespace {

using kit::ir::Constant;
using kit::ir::FromText;
using kit::ir::Graph;
using kit::ir::NodesToText;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename Body>
std::string MessageOf(const Body& body) {
  try {
    body();
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH);
    return error.what();
  }
  return "";
}

// Applies `change` to a valid graph, and returns Check's message.
std::string Refusal(const std::function<void(Graph&)>& change) {
  Graph graph = FromText(
      "in x: float[2,-1]\nconst w: float[2] = [1, 2]\nconst t: string[1] = [\"a\"]\nconst b: bool[1] = [1]\n"
      "[first] a = Conv<k=1, t=float[1]{0}>(x, w, _) : float[2,-1]\n[second] y, _ = Relu(a)\nout y");
  change(graph);
  return MessageOf([&] { Check(graph); });
}

TEST(CheckGraph, TakesWhatMakesSense) {
  EXPECT_EQ(Refusal([](Graph&) {}), "");
  EXPECT_EQ(Refusal([](Graph& graph) {
              graph.constants[0].storage = Constant::Storage::kDropped;
              graph.constants[0].tensor.data = nullptr;
            }),
            "");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.outputs = {graph.inputs[0], graph.constants[0].value}; }), "");
}

TEST(CheckGraph, RefusesTypesThatMakeNoSense) {
  EXPECT_EQ(Refusal([](Graph& graph) { graph.values[0].type = 99; }), "the type of value 'x' makes no sense");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.values[0].kind = 6; }), "the type of value 'x' makes no sense");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.values[0].rank = 1; }), "the type of value 'x' makes no sense");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.values[0].rank = -2; }), "the type of value 'x' makes no sense");
  EXPECT_EQ(Refusal([](Graph& graph) {
              graph.values[0].dims.assign(65, 1);
              graph.values[0].rank = 65;
            }),
            "the type of value 'x' makes no sense");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.values[0].dims[1] = -2; }), "the dimensions of value 'x' make no sense");
  EXPECT_EQ(Refusal([](Graph& graph) {
              graph.values[0].dims = {int64_t{1} << 40, int64_t{1} << 40};
            }),
            "the dimensions of value 'x' make no sense");
}

TEST(CheckGraph, RefusesValuesThatAreNotThereOrMadeTwice) {
  for (const int32_t value : {-2, 1000, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    const std::string number = std::to_string(value);
    EXPECT_EQ(Refusal([&](Graph& graph) { graph.nodes[0].inputs[0] = value; }),
              "node 'first' (Conv): it reads value " + number + ", which nothing made before");
    EXPECT_EQ(Refusal([&](Graph& graph) { graph.nodes[0].implicit_inputs = {value}; }),
              "node 'first' (Conv): it reads value " + number + ", which nothing made before");
    EXPECT_EQ(Refusal([&](Graph& graph) { graph.nodes[0].outputs[0] = value; }),
              "node 'first' (Conv): value " + number + " does not exist");
    EXPECT_EQ(Refusal([&](Graph& graph) { graph.inputs[0] = value; }), "value " + number + " does not exist");
    EXPECT_EQ(Refusal([&](Graph& graph) { graph.constants[0].value = value; }), "value " + number + " does not exist");
    EXPECT_EQ(Refusal([&](Graph& graph) { graph.outputs[0] = value; }),
              "it gives out value " + number + ", which nothing makes");
  }
  EXPECT_EQ(Refusal([](Graph& graph) { graph.nodes[1].outputs[0] = graph.nodes[0].outputs[0]; }),
            "node 'second' (Relu): value 'a' is made twice");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.inputs.push_back(graph.constants[0].value); }), "value 'w' is made twice");
  EXPECT_THAT(Refusal([](Graph& graph) { std::swap(graph.nodes[0], graph.nodes[1]); }),
              HasSubstr("node 'second' (Relu): it reads value"));
  EXPECT_THAT(Refusal([](Graph& graph) { graph.nodes[0].implicit_inputs = {-1}; }), HasSubstr("it reads value -1"));
}

TEST(CheckGraph, RefusesConstantsThatAreNotOfTheirValues) {
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constant_of_value.pop_back(); }),
            "its constants are not those of its values");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constant_of_value[0] = 1000; }),
            "its constants are not those of its values");
  const std::string mismatch = "constant 'w' is not of its value's type";
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constants[0].tensor.type = EP_TYPE_INT32; }), mismatch);
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constants[0].tensor.dims = {3}; }), mismatch);
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constants[0].tensor.dims = {2, 1}; }), mismatch);
  EXPECT_EQ(Refusal([](Graph& graph) { graph.values[1].kind = EP_KIND_SEQUENCE; }), mismatch);
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constant_of_value[1] = 1; }), mismatch);
}

TEST(CheckGraph, RefusesElementsThatAreNotThere) {
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constants[0].tensor.data = nullptr; }),
            "constant 'w': 2 elements expected, but its data is not there");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constants[1].tensor.strings = nullptr; }),
            "constant 't': 1 elements expected, but its data is not there");
  EXPECT_EQ(Refusal([](Graph& graph) {
              graph.constants[1].tensor.strings = std::make_shared<const std::vector<std::string>>(2);
            }),
            "constant 't': 1 elements expected, but its data is not there");
  static const uint8_t kTwo = 2;
  EXPECT_EQ(Refusal([](Graph& graph) { graph.constants[2].tensor.data = &kTwo; }),
            "constant 'b': a bool is 2; 0 or 1 expected");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.nodes[0].attributes[1].tensors[0].data = nullptr; }),
            "node 'first' (Conv): attribute 't': 1 elements expected, but its data is not there");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.nodes[0].attributes[1].tensors[0].type = 0; }),
            "node 'first' (Conv): attribute 't': its type makes no sense");
  EXPECT_EQ(Refusal([](Graph& graph) {
              graph.values[1].type = EP_TYPE_UNDEFINED;
              graph.constants[0].tensor.type = EP_TYPE_UNDEFINED;
              graph.constants[0].storage = Constant::Storage::kDropped;
            }),
            "constant 'w': its type makes no sense");
}

TEST(CheckGraph, RefusesAttributesThatDoNotHoldWhatTheirTypeSays) {
  EXPECT_EQ(Refusal([](Graph& graph) { graph.nodes[0].attributes[0].ints.clear(); }),
            "node 'first' (Conv): attribute 'k' doesn't hold an integer, as its type says");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.nodes[0].attributes[0].floats = {1}; }),
            "node 'first' (Conv): attribute 'k' doesn't hold an integer, as its type says");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.nodes[0].attributes[1].type = EP_ATTRIBUTE_SPARSE_TENSOR; }),
            "node 'first' (Conv): attribute 't' doesn't hold a sparse tensor, as its type says");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.nodes[0].attributes[1].type = EP_ATTRIBUTE_SPARSE_TENSORS; }),
            "node 'first' (Conv): attribute 't' has a sparse tensor's values without their indices");
  EXPECT_EQ(Refusal([](Graph& graph) { graph.nodes[0].attributes[1].name = "k"; }),
            "node 'first' (Conv): attribute 'k' is there twice");
}

TEST(SortNodes, PutsMakersBeforeReadersAndKeepsTheOrderOtherwise) {
  Graph graph = FromText("in x: float[2]\na = A(x)\nb = B(a)\nc = C(x)\nd = D(b, c)\ne = E(x)\nout d");
  const auto& nodes = graph.nodes;
  const std::vector<kit::ir::Node> shuffled = {nodes[3], nodes[1], nodes[4], nodes[0], nodes[2]};
  graph.nodes = shuffled;
  EXPECT_THAT(TopologicalOrder(graph), ElementsAre(2, 3, 1, 4, 0));
  SortNodes(graph);
  EXPECT_EQ(NodesToText(graph), "e = E(x)\na = A(x)\nb = B(a)\nc = C(x)\nd = D(b, c)\n");
  Check(graph);
  EXPECT_THAT(TopologicalOrder(graph), ElementsAre(0, 1, 2, 3, 4));
}

TEST(SortNodes, WaitsForWhatBodiesRead) {
  Graph graph = FromText("in c: bool[]\na = A(c)\ny = If<then_branch=?5>(c) reads (a)\nout y");
  std::swap(graph.nodes[0], graph.nodes[1]);
  SortNodes(graph);
  EXPECT_EQ(graph.nodes[0].op_type, "A");
}

TEST(SortNodes, RefusesCirclesAndValuesThatAreNotThere) {
  Graph graph = FromText("in x: float[2]\n[n1] a = A(x)\n[n2] b = B(a)\nout b");
  graph.nodes[0].inputs[0] = graph.nodes[1].outputs[0];
  EXPECT_EQ(MessageOf([&] { SortNodes(graph); }),
            "node 'n1' (A) reads, through others, what it makes; a graph without circles expected");
  ASSERT_EQ(graph.nodes.size(), 2u) << "as it was";
  EXPECT_EQ(graph.nodes[0].op_type, "A");
  for (const int32_t value : {-2, 1000}) {
    graph.nodes[0].inputs[0] = value;
    EXPECT_EQ(MessageOf([&] { SortNodes(graph); }), "value " + std::to_string(value) + " does not exist");
  }
}

}  // namespace
}  // namespace epiphyte::test
