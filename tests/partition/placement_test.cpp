#include "core/partition/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace epiphyte::test {
namespace {

using namespace core;
using ::testing::HasSubstr;

Placement Example() {
  Placement placement;
  placement.providers = {"npu", "cpu", "idle"};
  const auto add = [&](const char* name, const char* provider, const char* partition) {
    NodePlacement node;
    node.node_id = static_cast<uint32_t>(placement.nodes.size());
    node.name = name;
    node.op_type = "Relu";
    node.provider = provider;
    node.device = provider;
    node.partition = partition;
    placement.nodes.push_back(std::move(node));
  };
  add("a", "cpu", "g_cpu_0");
  add("b", "npu", "g_npu_0");
  add("c", "npu", "g_npu_0");
  add("d", "", "");
  add("e", "", "");
  placement.nodes.back().is_run_by_host = true;
  placement.nodes[0].declines.push_back({"npu", "rank 5 found, 4 expected"});
  placement.edges = {{0, 1}, {1, 2}};
  placement.warnings = {"npu: something odd"};
  return placement;
}

TEST(Placement, SummarizesInOneLineByPriority) {
  EXPECT_EQ(Example().Summary(), "5 nodes: npu 2 in 1 partition, cpu 1 in 1 partition, (host) 1, unplaced 1");
  EXPECT_EQ(Placement().Summary(), "0 nodes");
}

TEST(Placement, JsonHoldsEverything) {
  const nlohmann::json json = nlohmann::json::parse(Example().ToJson());
  EXPECT_EQ(json["summary"], Example().Summary());
  ASSERT_EQ(json["providers"].size(), 4u);
  EXPECT_EQ(json["providers"][0]["name"], "npu");
  EXPECT_EQ(json["providers"][0]["nodes"], 2);
  EXPECT_EQ(json["providers"][0]["partitions"], 1);
  ASSERT_EQ(json["nodes"].size(), 5u);
  EXPECT_EQ(json["nodes"][0]["op_type"], "Relu");
  EXPECT_EQ(json["nodes"][0]["partition"], "g_cpu_0");
  EXPECT_EQ(json["nodes"][0]["declines"][0]["reason"], "rank 5 found, 4 expected");
  EXPECT_EQ(json["edges"][1], nlohmann::json::array({1, 2}));
  EXPECT_EQ(json["warnings"][0], "npu: something odd");
}

TEST(Placement, RemovedNodesAreListed) {
  Placement placement = Example();
  EXPECT_EQ(placement.RemovedSummary(), "");
  placement.removed.push_back({"", "k", "Constant", "", RemovalReason::kFolded, "k_output"});
  placement.removed.push_back({"if_1/then_branch", "twin", "Relu", "", RemovalReason::kMerged, "relu"});
  placement.removed.push_back({"", "l", "Constant", "", RemovalReason::kFolded, "l_output"});
  EXPECT_EQ(placement.RemovedSummary(), "3 more nodes of the model: 2 folded, 1 merged");
  EXPECT_EQ(placement.Summary(), Example().Summary());
  const nlohmann::json removed = nlohmann::json::parse(placement.ToJson())["removed"];
  ASSERT_EQ(removed.size(), 3u);
  EXPECT_EQ(removed[1]["graph"], "if_1/then_branch");
  EXPECT_EQ(removed[1]["name"], "twin");
  EXPECT_EQ(removed[1]["op_type"], "Relu");
  EXPECT_EQ(removed[1]["fate"], "merged");
  EXPECT_EQ(removed[1]["into"], "relu");
  EXPECT_EQ(removed[1]["text"], "merged with node 'relu'");
}

TEST(Placement, NamesNeedNotBeUtf8) {
  Placement placement = Example();
  placement.nodes[0].name = "\xff\xfe\"\\\n";
  const std::string shown = nlohmann::json::parse(placement.ToJson())["nodes"][0]["name"];
  EXPECT_THAT(shown, HasSubstr("\"\\\n"));
  EXPECT_THAT(placement.ToDot(), HasSubstr("\\\"\\\\"));
}

TEST(Placement, ThePictureHasNodesEdgesAndALegend) {
  const std::string dot = Example().ToDot();
  EXPECT_THAT(dot, HasSubstr("digraph"));
  EXPECT_THAT(dot, HasSubstr("n0 -> n1;"));
  EXPECT_THAT(dot, HasSubstr("npu: 2 nodes"));
  EXPECT_THAT(dot, HasSubstr("unplaced: 1 node\""));
}

}  // namespace
}  // namespace epiphyte::test
