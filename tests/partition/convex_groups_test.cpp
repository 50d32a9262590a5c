#include "core/partition/convex_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

using namespace core;

std::vector<std::vector<std::string>> GroupNames(const Graph& graph,
                                                 const std::vector<std::vector<std::string>>& units) {
  std::vector<std::vector<Node*>> nodes;
  for (const auto& unit : units) {
    nodes.emplace_back();
    for (const std::string& name : unit) nodes.back().push_back(FindNode(graph, name));
  }
  std::vector<std::vector<std::string>> names;
  for (const auto& group : FormConvexGroups(graph, nodes)) {
    names.emplace_back();
    for (const Node* node : group) names.back().push_back(node->name());
  }
  return names;
}

using Groups = std::vector<std::vector<std::string>>;

TEST(FormConvexGroups, AWhollySupportedGraphIsOneGroup) {
  auto graph = ParseGraph(R"(
    in  x: float
    a = Relu(x)
    b = Neg(a)
    lonely = Abs(x)
    out b, lonely
  )");
  EXPECT_EQ(GroupNames(*graph, {{"a"}, {"b"}, {"lonely"}}), (Groups{{"a", "b", "lonely"}}));
}

TEST(FormConvexGroups, AnAlternatingChainGetsOneGroupAnEntry) {
  auto graph = ParseGraph(R"(
    in  x: float
    a = Relu(x)
    stop1 = Custom(a)
    b = Relu(stop1)
    c = Relu(b)
    stop2 = Custom(c)
    d = Relu(stop2)
    out d
  )");
  EXPECT_EQ(GroupNames(*graph, {{"a"}, {"b"}, {"c"}, {"d"}}), (Groups{{"a"}, {"b", "c"}, {"d"}}));
}

TEST(FormConvexGroups, ADiamondWithAnUnsupportedSideIsSplit) {
  auto graph = ParseGraph(R"(
    in  x: float
    top = Relu(x)
    left = Relu(top)
    right = Custom(top)
    bottom = Add(left, right)
    out bottom
  )");
  EXPECT_EQ(GroupNames(*graph, {{"top"}, {"left"}, {"bottom"}}), (Groups{{"top", "left"}, {"bottom"}}));
}

TEST(FormConvexGroups, AnUnsupportedStartDoesNotSplit) {
  auto graph = ParseGraph(R"(
    in  x: float
    start = Custom(x)
    a = Relu(x)
    b = Add(a, start)
    out b
  )");
  EXPECT_EQ(GroupNames(*graph, {{"a"}, {"b"}}), (Groups{{"a", "b"}}));
}

TEST(FormConvexGroups, NothingSupportedGivesNoGroup) {
  auto graph = ParseGraph(R"(
    in  x: float
    a = Relu(x)
    out a
  )");
  EXPECT_TRUE(GroupNames(*graph, {}).empty());
}

TEST(FormConvexGroups, UnitsAreNotSplit) {
  auto graph = ParseGraph(R"(
    in  x: float
    a = Relu(x)
    stop = Custom(a)
    b = Relu(stop)
    c = Relu(x)
    out b, c
  )");
  // On its own, c would be in the first group. But b can only be in the second, and the unit stays together.
  EXPECT_EQ(GroupNames(*graph, {{"a"}, {"b", "c"}}), (Groups{{"a"}, {"b", "c"}}));
}

TEST(FormConvexGroups, UnitsThatNeedEachOtherShareAGroup) {
  auto graph = ParseGraph(R"(
    in  x: float
    a1 = Relu(x)
    b2 = Relu(x)
    b1 = Neg(a1)
    a2 = Neg(b2)
    out a2, b1
  )");
  EXPECT_EQ(GroupNames(*graph, {{"a1", "a2"}, {"b1", "b2"}}), (Groups{{"a1", "b2", "b1", "a2"}}));
}

TEST(FormConvexGroups, AUnitThatCannotBeFusedIsLeftOut) {
  auto graph = ParseGraph(R"(
    in  x: float
    a = Relu(x)
    stop = Custom(a)
    b = Relu(stop)
    c = Relu(b)
    out c
  )");
  EXPECT_EQ(GroupNames(*graph, {{"a", "b"}, {"c"}}), (Groups{{"c"}})) << "{a, b} isn't convex";
}

TEST(FormConvexGroups, OfTwoUnitsInACycleWithAnUnsupportedNodeOneStays) {
  auto graph = ParseGraph(R"(
    in  x: float
    a1 = Relu(x)
    b2 = Relu(x)
    stop = Custom(a1)
    b1 = Neg(stop)
    a2 = Neg(b2)
    out a2, b1
  )");
  EXPECT_EQ(GroupNames(*graph, {{"a1", "a2"}, {"b1", "b2"}}), (Groups{{"a1", "a2"}}));
}

TEST(IsConvex, SeesPathsThatLeaveAndComeBack) {
  auto graph = ParseGraph(R"(
    in  x: float
    a = Relu(x)
    b = Relu(a)
    c = Relu(b)
    d = Add(a, c)
    e = Relu(x)
    out d, e
  )");
  const auto convex = [&](const std::vector<std::string>& names) {
    std::vector<Node*> nodes;
    for (const std::string& name : names) nodes.push_back(FindNode(*graph, name));
    return IsConvex(*graph, nodes);
  };
  EXPECT_TRUE(convex({}));
  EXPECT_TRUE(convex({"b"}));
  EXPECT_TRUE(convex({"a", "b"}));
  EXPECT_TRUE(convex({"a", "b", "c", "d"}));
  EXPECT_TRUE(convex({"a", "e"})) << "unconnected";
  EXPECT_FALSE(convex({"a", "d"}));
  EXPECT_FALSE(convex({"d", "b", "a"}));
  EXPECT_TRUE(convex({"d", "c", "b"}));
}

// --- properties on random graphs

std::unique_ptr<Graph> RandomGraph(std::mt19937& random, int count) {
  auto graph = std::make_unique<Graph>("random");
  std::vector<ValueDef*> values = {graph->AddInput("x", Type::Tensor(DataType::kFloat))};
  for (int i = 0; i < count; ++i) {
    std::vector<ValueDef*> inputs;
    const size_t arity = 1 + random() % 3;
    for (size_t k = 0; k < arity; ++k) {
      const size_t reach = std::min<size_t>(values.size(), 6);
      inputs.push_back(values[values.size() - 1 - random() % reach]);
    }
    ValueDef* value = graph->AddValue("v" + std::to_string(i));
    graph->AddNode("Op", "", 1, inputs, {value}, {}, "n" + std::to_string(i));
    values.push_back(value);
  }
  graph->SetOutputs({values.back()});
  graph->Finalize();
  return graph;
}

using Reach = std::vector<std::vector<char>>;

Reach Reachability(const Graph& graph) {
  const size_t count = graph.node_count();
  Reach reach(count, std::vector<char>(count, 0));
  for (size_t i = count; i-- > 0;) {
    for (const Node* user : graph.nodes()[i]->output(0)->consumers()) {
      reach[i][user->id()] = 1;
      for (size_t k = 0; k < count; ++k) reach[i][k] |= reach[user->id()][k];
    }
  }
  return reach;
}

bool BruteForceConvex(const Reach& reach, const std::set<size_t>& group) {
  for (const size_t from : group) {
    for (const size_t to : group) {
      for (size_t between = 0; between < reach.size(); ++between) {
        if (!group.contains(between) && reach[from][between] != 0 && reach[between][to] != 0) return false;
      }
    }
  }
  return true;
}

std::set<size_t> Ids(const std::vector<Node*>& nodes) {
  std::set<size_t> ids;
  for (const Node* node : nodes) ids.insert(node->id());
  return ids;
}

// Returns whether the graph is acyclic when each group is contracted into one node.
bool IsAcyclicWhenFused(const Graph& graph, const std::vector<std::vector<Node*>>& groups) {
  std::map<const Node*, size_t> item;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const Node* node : groups[i]) item[node] = i;
  }
  size_t next = groups.size();
  for (const auto& node : graph.nodes()) {
    if (!item.contains(node.get())) item[node.get()] = next++;
  }
  std::vector<std::set<size_t>> edges(next);
  std::vector<size_t> waiting(next, 0);
  for (const auto& node : graph.nodes()) {
    for (const Node* user : node->output(0)->consumers()) {
      if (item[node.get()] != item[user] && edges[item[node.get()]].insert(item[user]).second) ++waiting[item[user]];
    }
  }
  std::vector<size_t> ready;
  for (size_t i = 0; i < next; ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const size_t current = ready.back();
    ready.pop_back();
    for (const size_t target : edges[current]) {
      if (--waiting[target] == 0) ready.push_back(target);
    }
  }
  return done == next;
}

TEST(FormConvexGroupsProperty, SingleNodesFormConvexAcyclicGroupsOfTheLeastNumber) {
  std::mt19937 random(2026);
  for (int trial = 0; trial < 300; ++trial) {
    auto graph = RandomGraph(random, 5 + static_cast<int>(random() % 30));
    std::vector<std::vector<Node*>> units;
    std::set<size_t> supported;
    const unsigned share = 1 + random() % 9;
    for (const auto& node : graph->nodes()) {
      if (random() % 10 >= share) continue;
      units.push_back({node.get()});
      supported.insert(node->id());
    }
    const auto groups = FormConvexGroups(*graph, units);
    const Reach reach = Reachability(*graph);
    std::set<size_t> grouped;
    for (const auto& group : groups) {
      EXPECT_FALSE(group.empty());
      EXPECT_TRUE(BruteForceConvex(reach, Ids(group))) << "trial " << trial;
      grouped.merge(Ids(group));
    }
    EXPECT_EQ(grouped, supported) << "every supported node is in a group";
    EXPECT_TRUE(IsAcyclicWhenFused(*graph, groups)) << "trial " << trial;

    // Fewer groups are impossible, because some path enters the supported set that often.
    std::vector<size_t> entries(graph->node_count(), 0);
    for (const auto& node : graph->nodes()) {
      size_t& here = entries[node->id()];
      const bool inside = supported.contains(node->id());
      for (const ValueDef* input : node->inputs()) {
        if (input->producer() == nullptr) continue;
        const size_t before = entries[input->producer()->id()];
        here = std::max(here, before + (inside && !supported.contains(input->producer()->id()) ? 1 : 0));
      }
      if (inside) here = std::max<size_t>(here, 1);
    }
    EXPECT_EQ(groups.size(), *std::max_element(entries.begin(), entries.end())) << "trial " << trial;
  }
}

TEST(FormConvexGroupsProperty, UnitsStayWholeOrAreLeftOut) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    auto graph = RandomGraph(random, 5 + static_cast<int>(random() % 30));
    std::vector<std::vector<Node*>> units;
    for (const auto& node : graph->nodes()) {
      const unsigned choice = random() % 4;
      if (choice == 0) continue;
      if (choice == 1 && !units.empty() && units.back().size() < 4) {
        units.back().push_back(node.get());
      } else {
        units.push_back({node.get()});
      }
    }
    const auto groups = FormConvexGroups(*graph, units);
    const Reach reach = Reachability(*graph);
    std::map<const Node*, size_t> group_of;
    for (size_t i = 0; i < groups.size(); ++i) {
      EXPECT_TRUE(BruteForceConvex(reach, Ids(groups[i]))) << "trial " << trial;
      for (const Node* node : groups[i]) EXPECT_TRUE(group_of.emplace(node, i).second);
    }
    EXPECT_TRUE(IsAcyclicWhenFused(*graph, groups)) << "trial " << trial;
    for (const auto& unit : units) {
      std::set<size_t> found;
      for (const Node* node : unit) found.insert(group_of.contains(node) ? group_of[node] : groups.size());
      EXPECT_EQ(found.size(), 1u) << "a unit was split in trial " << trial;
      EXPECT_TRUE(unit.size() > 1 || group_of.contains(unit[0])) << "single nodes can always be grouped";
    }
    EXPECT_EQ(FormConvexGroups(*graph, units), groups) << "deterministic";
  }
}

TEST(FormConvexGroupsProperty, WithRulesGroupsStayConvexAndExactUnitsAreGroupsOfTheirOwn) {
  std::mt19937 random(42);
  for (int trial = 0; trial < 400; ++trial) {
    auto graph = RandomGraph(random, 5 + static_cast<int>(random() % 30));
    const Reach reach = Reachability(*graph);
    std::vector<std::vector<Node*>> units;
    GroupingRules rules;
    rules.only_connected = random() % 2 == 0;
    for (const auto& node : graph->nodes()) {
      const unsigned choice = random() % 5;
      if (choice == 0) continue;
      if (choice == 1 && !units.empty() && units.back().size() < 4) {
        units.back().push_back(node.get());
        // Callers drop claims that aren't convex, so FormConvexGroups never gets any.
        if (BruteForceConvex(reach, Ids(units.back()))) continue;
        units.back().pop_back();
      }
      units.push_back({node.get()});
      rules.exact.push_back(random() % 3 == 0);
    }
    const auto groups = FormConvexGroups(*graph, units, rules);
    std::map<const Node*, size_t> group_of;
    for (size_t i = 0; i < groups.size(); ++i) {
      EXPECT_FALSE(groups[i].empty());
      EXPECT_TRUE(BruteForceConvex(reach, Ids(groups[i]))) << "trial " << trial;
      for (const Node* node : groups[i]) EXPECT_TRUE(group_of.emplace(node, i).second);
    }
    EXPECT_TRUE(IsAcyclicWhenFused(*graph, groups)) << "trial " << trial;
    for (size_t u = 0; u < units.size(); ++u) {
      std::set<size_t> found;
      for (const Node* node : units[u]) found.insert(group_of.contains(node) ? group_of[node] : groups.size());
      EXPECT_EQ(found.size(), 1u) << "a unit was split in trial " << trial;
      const bool is_grouped = *found.begin() != groups.size();
      EXPECT_TRUE(units[u].size() > 1 || is_grouped) << "single nodes can always be grouped";
      if (rules.exact[u] != 0 && is_grouped) {
        EXPECT_EQ(Ids(groups[*found.begin()]), Ids(units[u])) << "trial " << trial;
      }
    }
    EXPECT_EQ(FormConvexGroups(*graph, units, rules), groups) << "deterministic";
  }
}

TEST(FormConvexGroups, OnlyWhatIsConnectedSharesAGroupOnRequest) {
  auto graph = ParseGraph(R"(
    in  x: float
    in  z: float
    a = Relu(x)
    b = Neg(a)
    lonely = Abs(z)
    out b, lonely
  )");
  std::vector<std::vector<Node*>> units;
  for (const char* name : {"a", "b", "lonely"}) units.push_back({FindNode(*graph, name)});
  GroupingRules rules;
  rules.only_connected = true;
  const auto groups = FormConvexGroups(*graph, units, rules);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0], (std::vector<Node*>{units[0][0], units[1][0]}));
  EXPECT_EQ(groups[1], units[2]);
}

TEST(IsConvexProperty, AgreesWithBruteForce) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 300; ++trial) {
    auto graph = RandomGraph(random, 12);
    const Reach reach = Reachability(*graph);
    std::vector<Node*> nodes;
    for (const auto& node : graph->nodes()) {
      if (random() % 3 == 0) nodes.push_back(node.get());
    }
    std::shuffle(nodes.begin(), nodes.end(), random);
    EXPECT_EQ(IsConvex(*graph, nodes), BruteForceConvex(reach, Ids(nodes))) << "trial " << trial;
  }
}

TEST(FormConvexGroups, ALongChainTakesNoRecursion) {
  Graph graph("long");
  ValueDef* value = graph.AddInput("x", Type::Tensor(DataType::kFloat));
  std::vector<std::vector<Node*>> units;
  for (int i = 0; i < 100000; ++i) {
    ValueDef* next = graph.AddValue("v" + std::to_string(i));
    Node* node = graph.AddNode("Relu", "", 14, {value}, {next});
    if (i % 10 != 9) units.push_back({node});
    value = next;
  }
  graph.Finalize();
  EXPECT_EQ(FormConvexGroups(graph, units).size(), 10000u);
}

}  // namespace
}  // namespace epiphyte::test
