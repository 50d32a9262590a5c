// The host's graph as IR: a valid graph is imported unchanged, and an invalid one is refused.
#include "epiphyte/kit/graph/import.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "tests/framework/info_graph.h"

namespace epiphyte::test {
namespace {

using kit::ir::Constant;
using kit::ir::Graph;
using testing::ElementsAre;
using testing::HasSubstr;

struct SmallGraph : InfoGraph {
  EpValueDefInfo& x = Value("x", {1, 3, -1, 8});
  EpValueDefInfo& w = Constant("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  EpValueDefInfo& y = Value("y", {});
  EpNodeInfo& node = Node("Conv", {&x, &w, nullptr}, {&y});
  EpAttributeInfo& attribute = Attribute(node, "pads", EP_ATTRIBUTE_INTS);
  EpGraphInfo& graph = Graph({&x}, {&y});

  SmallGraph() {
    attribute.ints = Keep({1, -2});
    attribute.count = 2;
  }
};

std::string Refusal(const std::function<void(SmallGraph&)>& change) {
  SmallGraph graph;
  change(graph);
  try {
    kit::ir::Import(InfoHost(), graph.Handle(), "test");
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH) << error.what();
    return error.what();
  }
  return "";
}

TEST(ImportGraph, BringsNodesValuesAndConstantsWithTheirHandles) {
  SmallGraph from;
  const Graph graph = kit::ir::Import(InfoHost(), from.Handle(), "part_0");
  EXPECT_EQ(kit::ir::ToText(graph),
            "graph \"part_0\"\nin x: float[1,3,-1,8]\nconst w: float[2,3] = [1, 2, 3, 4, 5, 6]\n"
            "[Conv] y = Conv<pads=[1,-2]>(x, w, _) : float[]\nout y\n");
  EXPECT_EQ(graph.nodes[0].handle, ToHandle(from.node));
  ASSERT_EQ(graph.constants.size(), 1u);
  EXPECT_EQ(graph.constants[0].handle, ToHandle(from.w));
  EXPECT_EQ(graph.constants[0].storage, Constant::Storage::kBorrowed);
  EXPECT_EQ(graph.constants[0].tensor.data, from.w.constant->data) << "not copied";
  kit::ir::Check(graph);
}

TEST(ImportGraph, CopiesAttributesOfEveryType) {
  SmallGraph from;
  const float floats[] = {0.5f, 2};
  const EpString strings[] = {{"a", 1}, {nullptr, 0}};
  const EpTensorView& tensor = from.Tensor<int64_t>(EP_TYPE_INT64, {2}, {3, 4});
  const EpString words[] = {{"w", 1}};
  EpTensorView& text = from.Tensor<EpString>(EP_TYPE_STRING, {1}, {words[0]});
  const EpTensorView* const tensors[] = {&tensor, &text};
  const auto add = [&](const char* name, EpAttributeType type, uint64_t count) -> EpAttributeInfo& {
    EpAttributeInfo& info = from.Attribute(from.node, name, type);
    info.count = count;
    info.floats = floats;
    info.ints = from.Keep({7, 8});
    info.strings = strings;
    info.tensors = tensors;
    return info;
  };
  add("f", EP_ATTRIBUTE_FLOAT, 1);
  add("fs", EP_ATTRIBUTE_FLOATS, 2);
  add("i", EP_ATTRIBUTE_INT, 1);
  add("s", EP_ATTRIBUTE_STRING, 1);
  add("ss", EP_ATTRIBUTE_STRINGS, 2);
  add("t", EP_ATTRIBUTE_TENSOR, 1);
  add("ts", EP_ATTRIBUTE_TENSORS, 2);
  add("x", EP_ATTRIBUTE_SPARSE_TENSOR, 1);
  add("g", EP_ATTRIBUTE_GRAPH, 1);
  add("later", 99, 1);
  const Graph graph = kit::ir::Import(InfoHost(), from.Handle(), "");
  EXPECT_EQ(kit::ir::NodesToText(graph),
            "y = Conv<f=0.5, fs=[0.5,2.0], g=?5, i=7, later=?99, pads=[1,-2], s=\"a\", ss=[\"a\",\"\"], "
            "t=int64[2]{3, 4}, ts=[int64[2]{3, 4}, string[1]{\"w\"}], x=sparse(int64[2]{3, 4}, string[1]{\"w\"})>"
            "(x, w, _)\n");
  EXPECT_NE(graph.nodes[0].TensorOf("t")->data, tensor.data) << "copied";
}

TEST(ImportGraph, TakesTheDefaultDomainByBothItsNames) {
  SmallGraph from;
  from.node.domain = "ai.onnx";
  EXPECT_TRUE(kit::ir::Import(InfoHost(), from.Handle(), "").nodes[0].Is("Conv"));
}

TEST(ImportGraph, KnowsWhatBodiesReadAndLeavesThemWithTheHost) {
  SmallGraph from;
  from.node.implicit_inputs = from.Handles<EpValueDef>(std::vector<const EpValueDefInfo*>{&from.w});
  from.node.implicit_input_count = 1;
  from.node.subgraph_count = 1;
  EXPECT_THAT(kit::ir::Import(InfoHost(), from.Handle(), "").nodes[0].implicit_inputs, ElementsAre(1));
}

TEST(ImportGraph, OfAnElementTypeThatCameLaterKnowsItsNumberAndTheShape) {
  SmallGraph from;
  EpTypeInfo& type = from.Type({4});
  type.element_type = 99;
  from.y.type = &type;
  EpTensorView& later = from.Tensor<char>(99, {2, 3}, {});
  from.w.constant = &later;
  const Graph graph = kit::ir::Import(InfoHost(), from.Handle(), "");
  EXPECT_EQ(kit::ir::ToText(graph),
            "graph \"\"\nin x: float[1,3,-1,8]\nconst w: type 99[2,3] = …\n"
            "[Conv] y = Conv<pads=[1,-2]>(x, w, _) : type 99[4]\nout y\n");
  EXPECT_THROW(Check(graph), kit::Error) << "nobody can compile it";
}

TEST(ImportGraph, FollowsTypesOfSequencesAndOptionals) {
  SmallGraph from;
  EpTypeInfo sequence = {sizeof sequence, EP_KIND_SEQUENCE, 0, -1, nullptr, nullptr, &from.Type({2})};
  const EpTypeInfo optional = {sizeof optional, EP_KIND_OPTIONAL, 0, -1, nullptr, nullptr, &sequence};
  from.y.type = &optional;
  const Graph graph = kit::ir::Import(InfoHost(), from.Handle(), "");
  EXPECT_EQ(graph.values.back().kind, EP_KIND_OPTIONAL);
  EXPECT_EQ(graph.values.back().type, EP_TYPE_FLOAT);
  EXPECT_EQ(graph.values.back().rank, -1);
  sequence.element = &sequence;
  EXPECT_THAT(Refusal([&](SmallGraph& graph) { graph.y.type = &optional; }),
              HasSubstr("the type of value 'y' is nested deeper than 64"));
}

TEST(ImportGraph, TakesValuesOfWhichNothingIsKnown) {
  const EpTypeInfo unknown = {sizeof unknown, 77, EP_TYPE_FLOAT, 3, nullptr, nullptr, nullptr};
  SmallGraph from;
  from.y.type = &unknown;
  EXPECT_EQ(kit::ir::Import(InfoHost(), from.Handle(), "").values.back().kind, EP_KIND_UNKNOWN);
  from.y.type = nullptr;
  EXPECT_EQ(kit::ir::Import(InfoHost(), from.Handle(), "").values.back().kind, EP_KIND_UNKNOWN);
}

TEST(ImportGraph, RefusesListsThatAreNotThere) {
  constexpr uint64_t kMany = uint64_t{1} << 60;
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.graph.nodes = nullptr; }), "1 nodes announced, but none are there");
  EXPECT_THAT(Refusal([](SmallGraph& g) { g.graph.node_count = kMany; }), HasSubstr("1152921504606846976 nodes found"));
  EXPECT_THAT(Refusal([](SmallGraph& g) { g.graph.input_count = kMany; }), HasSubstr("inputs of the graph found"));
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.graph.outputs = nullptr; }),
            "1 outputs of the graph announced, but none are there");
  EXPECT_THAT(Refusal([](SmallGraph& g) { g.node.input_count = kMany; }), HasSubstr("inputs of a node found"));
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.node.outputs = nullptr; }),
            "node 'Conv' (Conv): 1 outputs of a node announced, but none are there");
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.node.attributes = nullptr; }),
            "1 attributes of a node announced, but none are there");
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.attribute.ints = nullptr; }),
            "2 integers of an attribute announced, but none are there");
  EXPECT_THAT(Refusal([](SmallGraph& g) { g.attribute.count = kMany; }), HasSubstr("integers of an attribute found"));
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.node.implicit_input_count = 2; }),
            "2 implicit inputs of a node announced, but none are there");
}

TEST(ImportGraph, RefusesHandlesThatAreNotThere) {
  const auto null_value = [](SmallGraph& g) {
    return g.Handles<EpValueDef>(std::vector<const EpValueDefInfo*>{nullptr});
  };
  EXPECT_EQ(Refusal([&](SmallGraph& g) { g.graph.inputs = null_value(g); }),
            "one of 1 inputs of the graph is not there");
  EXPECT_EQ(Refusal([&](SmallGraph& g) { g.graph.outputs = null_value(g); }),
            "one of 1 outputs of the graph is not there");
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.graph.nodes = g.Handles<EpNode>(std::vector<const EpNodeInfo*>{nullptr}); }),
            "a node is not there");
  EXPECT_EQ(Refusal([](SmallGraph& g) {
              g.node.attributes = g.Handles<EpAttribute>(std::vector<const EpAttributeInfo*>{nullptr});
            }),
            "an attribute of node 'Conv' is not there");
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.node.op_type = nullptr; }), "node 'Conv' has no operator");
}

TEST(ImportGraph, RefusesTypesThatMakeNoSense) {
  const auto change_type = [](const std::function<void(EpTypeInfo&)>& change) {
    return Refusal([&](SmallGraph& g) {
      EpTypeInfo& type = g.Type({2, 3});
      change(type);
      g.y.type = &type;
    });
  };
  EXPECT_EQ(change_type([](EpTypeInfo& type) { type.rank = 65; }),
            "node 'Conv' (Conv): value 'y' has rank 65; 64 at most expected");
  EXPECT_EQ(change_type([](EpTypeInfo& type) { type.dims = nullptr; }),
            "node 'Conv' (Conv): 2 dimensions announced, but none are there");
  const int64_t negative[] = {2, -2}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(change_type([&](EpTypeInfo& type) { type.dims = negative; }),
            "node 'Conv' (Conv): value 'y' has the dimensions [2,-2], which make no sense");
  EXPECT_THAT(change_type([&](EpTypeInfo& type) { type.dims = huge; }), HasSubstr("which make no sense"));
}

TEST(ImportGraph, RefusesConstantsThatMakeNoSense) {
  const auto change_view = [](const std::function<void(EpTensorView&)>& change) {
    return Refusal([&](SmallGraph& g) {
      EpTensorView& view = g.Tensor<float>(EP_TYPE_FLOAT, {2}, {1, 2});
      change(view);
      g.w.constant = &view;
    });
  };
  EXPECT_EQ(change_view([](EpTensorView&) {}), "");
  EXPECT_EQ(change_view([](EpTensorView& view) { view.rank = 65; }), "constant 'w' has rank 65; 64 at most expected");
  EXPECT_EQ(change_view([](EpTensorView& view) { view.dims = nullptr; }), "1 dimensions announced, but none are there");
  EXPECT_EQ(change_view([](EpTensorView& view) { view.byte_size = 7; }),
            "constant 'w' has 2 elements in 7 bytes; 2 in 8 expected");
  EXPECT_EQ(change_view([](EpTensorView& view) { view.element_count = 3; }),
            "constant 'w' has 3 elements in 8 bytes; 2 in 8 expected");
  EXPECT_EQ(change_view([](EpTensorView& view) { view.element_type = EP_TYPE_INT8; }),
            "constant 'w' has 2 elements in 8 bytes; 2 in 2 expected");
  EXPECT_EQ(change_view([](EpTensorView& view) { view.data = nullptr; }), "constant 'w' has no data");
  EXPECT_EQ(change_view([](EpTensorView& view) { view.buffer = reinterpret_cast<EpBuffer*>(&view); }),
            "constant 'w' is in a device's memory; constants are the host's");
  const int64_t negative[] = {-1};
  EXPECT_EQ(change_view([&](EpTensorView& view) { view.dims = negative; }),
            "constant 'w' has the dimensions [-1], which make no sense");
}

TEST(ImportGraph, RefusesAttributesThatMakeNoSense) {
  EXPECT_EQ(Refusal([](SmallGraph& g) { g.attribute.type = EP_ATTRIBUTE_INT; }),
            "attribute 'pads' holds 2 of what it can hold one of");
  const EpString broken = {nullptr, 4};
  EXPECT_EQ(Refusal([&](SmallGraph& g) {
              g.attribute.type = EP_ATTRIBUTE_STRINGS;
              g.attribute.strings = &broken;
              g.attribute.count = 1;
            }),
            "attribute 'pads' has a string without data");
  const EpTensorView* const none[] = {nullptr};
  EXPECT_EQ(Refusal([&](SmallGraph& g) {
              g.attribute.type = EP_ATTRIBUTE_TENSOR;
              g.attribute.tensors = none;
              g.attribute.count = 1;
            }),
            "attribute 'pads' holds a tensor that is not there");
}

TEST(ImportGraph, PassesOnWhatTheHostSays) {
  SmallGraph from;
  from.node.struct_size = 0;
  try {
    kit::ir::Import(InfoHost(), from.Handle(), "");
    ADD_FAILURE();
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_FAIL);
    EXPECT_STREQ(error.what(), "a node can't be described: the host is tired");
  }
}

struct Retained {
  int taken = 0;
  int released = 0;
};
Retained g_retained;

TEST(RetainConstant, KeepsTheHostsBytesUntilTheLastReferenceEnds) {
  g_retained = {};
  EpTaskApi task = kUncancelledTask;
  task.RetainConstant = [](EpTask*, const EpValueDef* value, EpConstant** constant) -> EpStatus* {
    ++g_retained.taken;
    *constant = reinterpret_cast<EpConstant*>(const_cast<EpValueDef*>(value));
    return nullptr;
  };
  task.ReleaseConstant = [](EpConstant*) { ++g_retained.released; };
  EpHostInfo host = InfoHost();
  host.task = &task;
  SmallGraph from;
  Graph graph = kit::ir::Import(host, from.Handle(), "");
  Constant& constant = graph.constants[0];
  kit::ir::Retain(host, nullptr, constant);
  EXPECT_EQ(constant.storage, Constant::Storage::kOwned);
  EXPECT_EQ(constant.handle, nullptr);
  EXPECT_EQ(constant.tensor.data, from.w.constant->data);
  kit::ir::Retain(host, nullptr, constant);
  EXPECT_EQ(g_retained.taken, 1);
  const Constant copy = constant;
  graph.constants.clear();
  EXPECT_EQ(g_retained.released, 0);
  const_cast<Constant&>(copy).owner.reset();
  EXPECT_EQ(g_retained.released, 1);
}

TEST(RetainConstant, NeedsNoReferenceForWhatARewriteMade) {
  Graph graph;
  graph.AddConstant("w", {}, Constant::Storage::kBorrowed, std::make_shared<int>(1));
  kit::ir::Retain(InfoHost(), nullptr, graph.constants[0]);
  EXPECT_EQ(graph.constants[0].storage, Constant::Storage::kOwned);
}

int g_dropped = 0;

TEST(DropConstant, LeavesAConstantWithoutBytes) {
  g_dropped = 0;
  EpTaskApi task = kUncancelledTask;
  task.DropConstant = [](EpTask*, const EpValueDef*) -> EpStatus* {
    ++g_dropped;
    return nullptr;
  };
  EpHostInfo host = InfoHost();
  host.task = &task;
  SmallGraph from;
  Graph graph = kit::ir::Import(host, from.Handle(), "");
  Constant& constant = graph.constants[0];
  kit::ir::Drop(host, nullptr, constant);
  kit::ir::Drop(host, nullptr, constant);
  EXPECT_EQ(g_dropped, 1);
  EXPECT_EQ(constant.storage, Constant::Storage::kDropped);
  EXPECT_EQ(constant.tensor.data, nullptr);
}

TEST(DropConstant, TakesNoBytesThatAnotherConstantHasToo) {
  const std::vector<float> bytes(size_t{1} << 17);
  int host_value = 0;
  const auto* const handle = reinterpret_cast<const EpValueDef*>(&host_value);
  Graph graph;
  const auto add = [&](size_t begin, size_t count, const EpValueDef* of) {
    kit::ir::Tensor tensor;
    tensor.type = EP_TYPE_FLOAT;
    tensor.dims = {static_cast<int64_t>(count)};
    tensor.data = bytes.data() + begin;
    graph.AddConstant("w" + std::to_string(graph.constants.size()), tensor, Constant::Storage::kBorrowed);
    graph.constants.back().handle = of;
  };
  add(65536, 32768, handle);  // overlaps no other constant
  add(0, 32768, handle);
  add(16384, 32768, nullptr);  // made by a rewrite; overlaps the previous and the next constant
  add(32768, 32768, handle);
  add(98304, 4, handle);  // too small to be worth a call
  EXPECT_EQ(kit::ir::Droppable(graph), (std::vector<bool>{true, false, false, false, false}));
}

TEST(DropConstant, IsSkippedOnAHostWithoutTheFunction) {
  EpTaskApi task = kUncancelledTask;
  task.struct_size = EP_SIZE_THROUGH(EpTaskApi, ReleaseConstant);
  task.DropConstant = [](EpTask*, const EpValueDef*) -> EpStatus* { std::abort(); };
  EpHostInfo host = InfoHost();
  host.task = &task;
  SmallGraph from;
  Graph graph = kit::ir::Import(host, from.Handle(), "");
  kit::ir::Drop(host, nullptr, graph.constants[0]);
  EXPECT_EQ(graph.constants[0].storage, Constant::Storage::kBorrowed);
  EXPECT_NE(graph.constants[0].tensor.data, nullptr);
}

}  // namespace
}  // namespace epiphyte::test
