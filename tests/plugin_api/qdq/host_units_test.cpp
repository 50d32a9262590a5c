// QDQ units of the host's graph, as claims from which the host can form partitions.
#include "epiphyte/kit/qdq/host_units.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/abi/host_tables.h"
#include "core/onnx/model_reader.h"
#include "core/partition/partitioner.h"
#include "tests/framework/onnx_text.h"
#include "tests/plugin_api/qdq/unit_text.h"

namespace epiphyte::test {
namespace {

using kit::qdq::Options;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A model with the parameters s, t (scales) and z (a zero point).
class Model {
 public:
  explicit Model(const std::string& signature, const std::string& nodes)
      : bytes_(OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17, \"mine\" : 1]> g " + signature +
                            " <float[1] s = {0.5}, float[1] t = {0.25}, uint8[1] z = {128}> {" + nodes + "}")),
        model_(core::ReadModelMemory(bytes_.data(), bytes_.size(), nullptr, {})) {
    graph().Finalize();
  }

  core::Graph& graph() { return *model_.graph; }
  kit::qdq::HostUnits Find(const Options& options = {}) {
    kit::qdq::HostUnits units = kit::qdq::FindHostUnits(*core::HostInfo(), core::ToAbi(&graph()), options);
    ExpectWhole(kit::ir::Editor(units.graph), units.found);
    return units;
  }

 private:
  std::string bytes_;
  core::Model model_;
};

// Returns each group with the values that its nodes make, such as "Sigmoid+Tanh: x a ra b rb".
std::vector<std::string> GroupsText(const kit::qdq::HostUnits& units) {
  std::vector<std::string> texts;
  for (const kit::qdq::Group& group : units.groups) {
    std::string text = group.name + ":";
    for (const EpNode* node : group.nodes) text += " " + core::FromAbi(node)->outputs()[0]->name();
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string ReasonFor(const kit::qdq::HostUnits& units, const std::string& value) {
  for (size_t n = 0; n < units.graph.nodes.size(); ++n) {
    if (core::FromAbi(units.HandleOf(static_cast<int32_t>(n)))->outputs()[0]->name() == value)
      return units.found.reasons[n];
  }
  return "nothing makes " + value;
}

// Returns the number of nodes in each partition that the host forms from the groups.
std::vector<size_t> PartitionSizes(core::Graph& graph, const Options& options = {}) {
  core::PartitionProvider provider{
      "units", "", [&](core::Graph& asked) {
        core::Capability capability;
        const kit::qdq::HostUnits units = kit::qdq::FindHostUnits(*core::HostInfo(), core::ToAbi(&asked), options);
        for (const kit::qdq::Group& group : units.groups) {
          capability.units.emplace_back();
          for (const EpNode* node : group.nodes)
            capability.units.back().push_back(const_cast<core::Node*>(core::FromAbi(node)));
        }
        return capability;
      }};
  std::vector<size_t> sizes;
  for (const core::Partition& partition : core::PartitionGraph(graph, {&provider, 1}, "").partitions)
    sizes.push_back(partition.graph->node_count());
  return sizes;
}

constexpr const char* kResidual = R"(
  x = DequantizeLinear(q, s, z)
  a = Sigmoid(x)
  ra = QuantizeLinear(a, t, z)
  da = DequantizeLinear(ra, t, z)
  y = Add(x, da)
  r = QuantizeLinear(y, t, z))";

TEST(HostUnits, KeepHandlesAndReadTheHostsConstants) {
  Model model("(uint8[4] q) => (uint8[4] r)", "x = DequantizeLinear(q, s, z) y = Relu(x) r = QuantizeLinear(y, t, z) ");
  const kit::qdq::HostUnits units = model.Find();
  EXPECT_THAT(GroupsText(units), ElementsAre("Relu: x y r"));
  EXPECT_THAT(PartitionSizes(model.graph()), ElementsAre(3));
}

TEST(HostUnits, ThatShareADequantizeAreOneGroup) {
  Model model("(uint8[4] q) => (uint8[4] r)", kResidual);
  EXPECT_THAT(GroupsText(model.Find()), ElementsAre("Sigmoid+Add: x a ra da y r"));
  EXPECT_THAT(PartitionSizes(model.graph()), ElementsAre(6));
}

// A branch of two units. The first unit's DequantizeLinear also leads to the sum after the branch. A second such block
// follows.
TEST(HostUnits, BetweenThoseThatShareAreInTheirGroup) {
  Model model("(uint8[4] q) => (uint8[4] r, uint8[4] other)", R"(
    x = DequantizeLinear(q, s, z)
    a = Sigmoid(x)
    ra = QuantizeLinear(a, t, z)
    da = DequantizeLinear(ra, t, z)
    b = Tanh(da)
    rb = QuantizeLinear(b, t, z)
    db = DequantizeLinear(rb, t, z)
    db2 = DequantizeLinear(rb, t, z)
    side = Elu(db2)
    other = QuantizeLinear(side, t, z)
    y = Add(x, db)
    ry = QuantizeLinear(y, t, z)
    x2 = DequantizeLinear(ry, t, z)
    c = Sigmoid(x2)
    rc = QuantizeLinear(c, t, z)
    dc = DequantizeLinear(rc, t, z)
    e = Relu(dc)
    re = QuantizeLinear(e, t, z)
    de = DequantizeLinear(re, t, z)
    y2 = Add(x2, de)
    r = QuantizeLinear(y2, t, z))");
  EXPECT_THAT(GroupsText(model.Find()), ElementsAre("Sigmoid+Tanh+Add: x a ra da b rb db y ry", "Elu: db2 side other",
                                                    "Sigmoid+Relu+Add: x2 c rc dc e re de y2 r"));
  EXPECT_THAT(PartitionSizes(model.graph()), ElementsAre(21));
}

// The inner pair shares a DequantizeLinear across its branch. The outer pair shares one across all of that.
TEST(HostUnits, ThatShareAroundOthersThatShareAreOneGroup) {
  Model model("(uint8[4] q) => (uint8[4] r)", R"(
    x = DequantizeLinear(q, s, z)
    a = Sigmoid(x)
    ra = QuantizeLinear(a, t, z)
    da = DequantizeLinear(ra, t, z)
    b = Tanh(da)
    rb = QuantizeLinear(b, t, z)
    db = DequantizeLinear(rb, t, z)
    c = Elu(db)
    rc = QuantizeLinear(c, t, z)
    dc = DequantizeLinear(rc, t, z)
    y = Add(da, dc)
    ry = QuantizeLinear(y, t, z)
    dy = DequantizeLinear(ry, t, z)
    w = Add(x, dy)
    r = QuantizeLinear(w, t, z))");
  EXPECT_THAT(GroupsText(model.Find()), ElementsAre("Sigmoid+Tanh+Elu+Add+Add: x a ra da b rb db c rc dc y ry dy w r"));
}

// One path leads through units only, and one through a node without a unit. The sum leaves the group, and the nodes on
// the paths stay.
TEST(HostUnits, OnAPathWithOthersNodesStayWhereTheyAre) {
  Model model("(uint8[4] q) => (uint8[4] r)", R"(
    x = DequantizeLinear(q, s, z)
    a = Sigmoid(x)
    ra = QuantizeLinear(a, t, z)
    da = DequantizeLinear(ra, t, z)
    b = Tanh(da)
    rb = QuantizeLinear(b, t, z)
    f = mine.Foo(rb)
    df = DequantizeLinear(f, t, z)
    c = Elu(df)
    rc = QuantizeLinear(c, t, z)
    dc = DequantizeLinear(rc, t, z)
    y = Add(x, dc)
    r = QuantizeLinear(y, t, z))");
  const Options options = {.dequantized_outputs = true};
  EXPECT_THAT(GroupsText(model.Find(options)), ElementsAre("Sigmoid: x a ra", "Tanh: da b rb", "Elu: df c rc"));
}

TEST(HostUnits, ThatShareAcrossOthersNodesAreNone) {
  // The path from a to y leads through a node that is in no unit.
  const std::string nodes = R"(
    x = DequantizeLinear(q, s, z)
    a = Sigmoid(x)
    ra = QuantizeLinear(a, t, z)
    f = mine.Foo(ra)
    df = DequantizeLinear(f, t, z)
    y = Add(x, df)
    r = QuantizeLinear(y, t, z)
    dr = DequantizeLinear(r, t, z)
    e = Tanh(dr)
    re = QuantizeLinear(e, t, z))";
  Model model("(uint8[4] q) => (uint8[4] re)", nodes);
  const kit::qdq::HostUnits units = model.Find();
  EXPECT_THAT(GroupsText(units), ElementsAre("Tanh: dr e re"));
  EXPECT_THAT(ReasonFor(units, "y"), HasSubstr("a path leads from there to it through nodes outside of such units"));
  EXPECT_THAT(ReasonFor(units, "a"), HasSubstr("which it reads, is read by Add"));
  EXPECT_THAT(PartitionSizes(model.graph()), ElementsAre(3));

  Model in_floats("(uint8[4] q) => (uint8[4] re)", nodes);
  const Options options = {.dequantized_outputs = true};
  EXPECT_THAT(GroupsText(in_floats.Find(options)), ElementsAre("Sigmoid: x a ra", "Tanh: dr e re"))
      << "who may give x out as floats keeps the first";
  EXPECT_THAT(PartitionSizes(in_floats.graph(), options), ElementsAre(3, 3));
}

TEST(HostUnits, AreEveryTimeWhatTheHostCanMakePartitionsOf) {
  // A chain in which neighbouring units share nodes. One rung in turn gets an operator without a unit.
  constexpr int kRungs = 6;
  for (int gap = 0; gap <= kRungs; ++gap) {
    std::string nodes = "x0 = DequantizeLinear(q, s, z) ";
    for (int i = 0; i < kRungs; ++i) {
      const std::string n = std::to_string(i);
      nodes += "y" + n + " = Sigmoid(x" + n + ") r" + n + " = QuantizeLinear(y" + n + ", t, z) ";
      if (i == gap) nodes += "f" + n + " = mine.Foo(r" + n + ") ";
      nodes += "d" + n + " = DequantizeLinear(" + (i == gap ? "f" : "r") + n + ", t, z) ";
      nodes += "a" + n + " = Add(x" + n + ", d" + n + ") p" + n + " = QuantizeLinear(a" + n + ", t, z) ";
      nodes += "x" + std::to_string(i + 1) + " = DequantizeLinear(p" + n + ", t, z) ";
    }
    nodes += "y = Sigmoid(x6) r = QuantizeLinear(y, t, z)";
    Model model("(uint8[4] q) => (uint8[4] r)", nodes);
    const kit::qdq::HostUnits units = model.Find();
    size_t claimed = 0;
    std::set<const EpNode*> distinct;
    for (const kit::qdq::Group& group : units.groups) {
      claimed += group.nodes.size();
      distinct.insert(group.nodes.begin(), group.nodes.end());
    }
    EXPECT_EQ(distinct.size(), claimed) << "no node is claimed twice";
    EXPECT_EQ(units.groups.size(), gap < kRungs ? static_cast<size_t>(kRungs) : static_cast<size_t>(kRungs) + 1);
    size_t placed = 0;
    for (const size_t nodes_in_partition : PartitionSizes(model.graph())) placed += nodes_in_partition;
    EXPECT_EQ(placed, claimed) << "the host drops no group, gap " << gap;
  }
}

TEST(HostUnits, OfManyThatShareOnlyThoseAreLostThatCannot) {
  // All units read x, and a path leads from the first unit through f to the last.
  std::string nodes = "x = DequantizeLinear(q, s, z) ";
  std::string signature = "(uint8[4] q) => (";
  constexpr int kReaders = 70;
  for (int i = 0; i < kReaders; ++i) {
    const std::string n = std::to_string(i);
    nodes += "y" + n + " = Sigmoid(x) r" + n + " = QuantizeLinear(y" + n + ", t, z) ";
    signature += "uint8[4] r" + n + ", ";
  }
  nodes += "f = mine.Foo(r0) d = DequantizeLinear(f, t, z) y = Add(x, d) r = QuantizeLinear(y, t, z)";
  Model model(signature + "uint8[4] r)", nodes);
  EXPECT_THAT(GroupsText(model.Find()), IsEmpty());
  const Options options = {.dequantized_outputs = true};
  const kit::qdq::HostUnits units = model.Find(options);
  ASSERT_EQ(units.groups.size(), 1u);
  EXPECT_EQ(units.groups[0].nodes.size(), 1u + 2u * kReaders);
  size_t placed = 0;
  for (const size_t size : PartitionSizes(model.graph(), options)) placed += size;
  EXPECT_EQ(placed, 1u + 2u * kReaders);
}

TEST(HostUnits, SkipNodesOfOtherProviders) {
  Model model("(uint8[4] q) => (uint8[4] r)", kResidual);
  for (const std::unique_ptr<core::Node>& node : model.graph().nodes()) {
    if (node != nullptr && node->Is("Sigmoid")) node->provider = 0;
  }
  const kit::qdq::HostUnits units = model.Find();
  EXPECT_THAT(GroupsText(units), IsEmpty());
  EXPECT_EQ(ReasonFor(units, "a"), "another provider has it");
  EXPECT_THAT(ReasonFor(units, "y"), HasSubstr("which it reads, is read by Sigmoid"));
}

TEST(HostUnits, SeeWhatBodiesRead) {
  Model model("(uint8[4] q, bool c) => (uint8[4] r, float[4] t2)", R"(
    x = DequantizeLinear(q, s, z)
    y = Sigmoid(x)
    r = QuantizeLinear(y, t, z)
    t2 = If (c) <then_branch = th () => (float[4] u) { u = Neg(y) }, else_branch = el () => (float[4] v) { v = Abs(y) }>)");
  EXPECT_THAT(ReasonFor(model.Find(), "y"), HasSubstr("readers, expected one QuantizeLinear"));
}

TEST(HostUnits, AskTheProviderForEachUnit) {
  Model model("(uint8[4] q) => (uint8[4] r)", kResidual);
  const Options options = {.refuse = [](const kit::ir::Editor& editor, const kit::qdq::Unit& unit) -> std::string {
    return editor.node(unit.target).Is("Add") ? "no adder is left" : "";
  }};
  const kit::qdq::HostUnits units = model.Find(options);
  EXPECT_THAT(GroupsText(units), IsEmpty());
  EXPECT_EQ(ReasonFor(units, "y"), "no adder is left");
}

}  // namespace
}  // namespace epiphyte::test
