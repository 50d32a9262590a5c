// The memory plan of a graph with known shapes: no value that is still needed is overwritten, and memory is shared
// where possible.
#include <gmock/gmock.h>

#include <random>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/memory/static_plan.hpp"

namespace epiphyte::test {
namespace {

using kit::PlanMemory;
using kit::StaticPlan;
using kit::StaticPlanOptions;
using kit::ir::Graph;
using kit::ir::Node;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Origin = StaticPlan::Origin;

int32_t AddValue(Graph& graph, std::vector<int64_t> dims) {
  kit::ir::Value value;
  value.name = "v" + std::to_string(graph.values.size());
  value.type = EP_TYPE_FLOAT;
  value.kind = EP_KIND_TENSOR;
  value.rank = static_cast<int32_t>(dims.size());
  value.dims = std::move(dims);
  return graph.AddValue(std::move(value));
}

// Adds a node that reads `inputs`. Returns its output, which has the shape `dims`.
int32_t AddNode(Graph& graph, const char* op_type, std::vector<int32_t> inputs, std::vector<int64_t> dims) {
  Node node;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.outputs = {AddValue(graph, std::move(dims))};
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().outputs[0];
}

Graph StartGraph(std::vector<int64_t> dims) {
  Graph graph;
  graph.inputs = {AddValue(graph, std::move(dims))};
  return graph;
}

const StaticPlan::Place& At(const StaticPlan& plan, int32_t value) { return plan.values[static_cast<size_t>(value)]; }

StaticPlanOptions Everything() {
  StaticPlanOptions options;
  options.in_place = [](const Node& node, size_t, size_t) { return node.Is("Relu") || node.Is("Add"); };
  options.alias = [](const Node& node, size_t input, size_t) { return node.Is("Reshape") && input == 0; };
  return options;
}

TEST(StaticPlan, InputsOutputsAndConstantsAreNotInTheArenaUnlessWanted) {
  Graph graph = StartGraph({16});
  const int32_t weights = AddValue(graph, {16});
  graph.constants.resize(1);
  graph.constants[0].value = weights;
  graph.constant_of_value[static_cast<size_t>(weights)] = 0;
  const int32_t sum = AddNode(graph, "Mul", {0, weights}, {16});
  const int32_t out = AddNode(graph, "Exp", {sum}, {16});
  graph.outputs = {out};

  const StaticPlan plan = PlanMemory(graph);
  EXPECT_EQ(plan.arena_bytes, 64u);
  EXPECT_EQ(At(plan, 0).origin, Origin::kNone);
  EXPECT_EQ(At(plan, weights).origin, Origin::kNone);
  EXPECT_EQ(At(plan, sum).origin, Origin::kFresh);
  EXPECT_EQ(At(plan, out).origin, Origin::kNone);

  StaticPlanOptions options;
  options.place_inputs = options.place_outputs = true;
  const StaticPlan whole = PlanMemory(graph, options);
  EXPECT_EQ(At(whole, weights).origin, Origin::kNone);
  EXPECT_EQ(At(whole, out).origin, Origin::kFresh);
  EXPECT_EQ(whole.arena_bytes, 128u);  // the input's lifetime has ended when the output is made
}

TEST(StaticPlan, AChainInPlaceNeedsOnePlace) {
  Graph graph = StartGraph({16});
  int32_t value = AddNode(graph, "Exp", {0}, {16});
  const int32_t first = value;
  for (int i = 0; i < 5; ++i) value = AddNode(graph, "Relu", {value}, {16});
  AddNode(graph, "Exp", {value}, {16});
  const StaticPlan plan = PlanMemory(graph, Everything());
  EXPECT_EQ(At(plan, value).origin, Origin::kInPlace);
  EXPECT_EQ(At(plan, value).source, value - 1);
  EXPECT_EQ(At(plan, value).offset, At(plan, first).offset);
  EXPECT_EQ(plan.arena_bytes, 128u);  // including the last node's output
}

TEST(StaticPlan, WhatIsReadLaterIsNotWrittenOver) {
  Graph graph = StartGraph({16});
  const int32_t a = AddNode(graph, "Exp", {0}, {16});
  const int32_t b = AddNode(graph, "Relu", {a}, {16});
  const int32_t view = AddNode(graph, "Reshape", {b}, {4, 4});
  const int32_t c = AddNode(graph, "Relu", {view}, {4, 4});
  AddNode(graph, "Add", {a, c}, {16});
  const int32_t last = AddNode(graph, "Exp", {b}, {16});
  const StaticPlan plan = PlanMemory(graph, Everything());
  EXPECT_EQ(At(plan, b).origin, Origin::kFresh);     // a is read again
  EXPECT_EQ(At(plan, view).origin, Origin::kAlias);  // alias of b
  EXPECT_EQ(At(plan, view).offset, At(plan, b).offset);
  EXPECT_EQ(At(plan, c).origin, Origin::kFresh);  // b has the same memory as view and is read again
  EXPECT_NE(At(plan, c).offset, At(plan, b).offset);
  EXPECT_EQ(At(plan, last).origin, Origin::kFresh);
}

TEST(StaticPlan, ANodeThatReadsAValueTwiceDoesNotWriteOverIt) {
  Graph graph = StartGraph({16});
  const int32_t a = AddNode(graph, "Exp", {0}, {16});
  const int32_t twice = AddNode(graph, "Add", {a, a}, {16});
  const StaticPlan plan = PlanMemory(graph, Everything());
  EXPECT_EQ(At(plan, twice).origin, Origin::kFresh);
}

TEST(StaticPlan, ALargerResultGetsMemoryOfItsOwn) {
  Graph graph = StartGraph({16});
  const int32_t a = AddNode(graph, "Exp", {0}, {16});
  const int32_t wide = AddNode(graph, "Add", {a, 0}, {4, 16});
  EXPECT_EQ(At(PlanMemory(graph, Everything()), wide).origin, Origin::kFresh);
}

TEST(StaticPlan, ADeviceMaySayWhatItsLayoutsTake) {
  Graph graph = StartGraph({3});
  const int32_t a = AddNode(graph, "Exp", {0}, {3});
  AddNode(graph, "Exp", {a}, {3});
  StaticPlanOptions options;
  options.alignment = 256;
  options.bytes = [](const Graph&, int32_t) { return uint64_t{300}; };
  const StaticPlan plan = PlanMemory(graph, options);
  EXPECT_EQ(At(plan, a).bytes, 300u);
  EXPECT_EQ(plan.arena_bytes, 1024u);
}

TEST(StaticPlan, ValuesWithoutASizeAreNamed) {
  const auto expect = [](std::vector<int64_t> dims, EpElementType type, EpTypeKind kind, const char* complaint) {
    Graph graph = StartGraph({16});
    const int32_t a = AddNode(graph, "Exp", {0}, std::move(dims));
    graph.values[static_cast<size_t>(a)].type = type;
    graph.values[static_cast<size_t>(a)].kind = kind;
    EXPECT_THAT([&] { PlanMemory(graph); }, ThrowsMessage<kit::Error>(HasSubstr(complaint)));
  };
  expect({2, -1}, EP_TYPE_FLOAT, EP_KIND_TENSOR,
         "value 'v1' has shape [2,-1]; dimensions that are known before the run expected");
  expect({2}, EP_TYPE_STRING, EP_KIND_TENSOR, "value 'v1' is of type string; elements of fixed size expected");
  expect({2}, EP_TYPE_FLOAT, EP_KIND_SEQUENCE, "value 'v1' is no tensor; one expected");
  expect({int64_t{1} << 40, 1 << 20}, EP_TYPE_FLOAT, EP_KIND_TENSOR, "at most 2^44 elements expected");
}

// Executes a graph on its plan with the value's number as content. A read must find the number of the value that it
// reads.
TEST(StaticPlan, RandomGraphsReadWhatWasWritten) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Graph graph = StartGraph({16});
    const char* const ops[] = {"Exp", "Relu", "Add", "Reshape"};
    std::vector<int32_t> made = {0};
    for (int n = 0; n < 40; ++n) {
      const char* op = ops[random() % 4];
      // Recent values are preferred, so that lifetimes of older values end.
      const auto pick = [&] { return made[made.size() - 1 - random() % std::min<size_t>(made.size(), 6)]; };
      std::vector<int32_t> inputs = {pick()};
      if (op[0] == 'A') inputs.push_back(pick());
      const bool same = op[0] != 'E';
      const std::vector<int64_t> dims =
          same ? graph.values[static_cast<size_t>(inputs[0])].dims : std::vector<int64_t>{8 << (random() % 4)};
      made.push_back(AddNode(graph, op, inputs, dims));
      if (random() % 8 == 0) graph.outputs.push_back(made.back());
    }
    StaticPlanOptions options = Everything();
    options.place_inputs = random() % 2 == 0;
    options.place_outputs = random() % 2 == 0;
    const StaticPlan plan = PlanMemory(graph, options);

    // For each 64 bytes of the arena, the value stored there. For an alias, the value that it aliases.
    std::vector<int32_t> arena(plan.arena_bytes / 64, -1);
    std::vector<int32_t> content(graph.values.size());
    for (size_t v = 0; v < content.size(); ++v) content[v] = static_cast<int32_t>(v);
    const auto each = [&](int32_t value, const auto& visit) {
      const StaticPlan::Place& place = At(plan, value);
      if (place.origin == Origin::kNone) return;
      ASSERT_LE(place.offset + place.bytes, plan.arena_bytes);
      for (uint64_t at = place.offset; at < place.offset + place.bytes; at += 64) visit(arena[at / 64]);
    };
    const auto expect = [&](int32_t value) {
      each(value, [&](int32_t holds) { ASSERT_EQ(holds, content[static_cast<size_t>(value)]) << "round " << round; });
    };
    if (options.place_inputs) each(0, [&](int32_t& holds) { holds = 0; });
    for (const Node& node : graph.nodes) {
      for (const int32_t input : node.inputs) expect(input);
      const int32_t output = node.outputs[0];
      if (At(plan, output).origin == Origin::kAlias) {
        content[static_cast<size_t>(output)] = content[static_cast<size_t>(node.inputs[0])];
      } else {
        each(output, [&](int32_t& holds) { holds = output; });
      }
    }
    if (options.place_outputs)
      for (const int32_t output : graph.outputs) expect(output);
  }
}

}  // namespace
}  // namespace epiphyte::test
