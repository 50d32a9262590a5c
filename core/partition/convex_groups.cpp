#include "core/partition/convex_groups.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/partition/strong_components.h"

namespace epiphyte::core {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// The graph with each unit contracted to one item. Nodes outside of units are items of their own.
class Quotient {
 public:
  Quotient(const Graph& graph, const std::vector<Node*>& order, std::span<const std::vector<Node*>> units,
           const std::vector<char>& dropped, const std::vector<char>& exact)
      : item_of_(graph.nodes().size(), kNone) {
    for (size_t unit = 0; unit < units.size(); ++unit) {
      if (dropped[unit] != 0 || units[unit].empty()) continue;
      for (const Node* node : units[unit]) item_of_[node->id()] = static_cast<uint32_t>(unit_of_.size());
      unit_of_.push_back(static_cast<uint32_t>(unit));
      is_exact_.push_back(unit < exact.size() ? exact[unit] : 0);
    }
    is_exact_.resize(unit_of_.size() + order.size(), 0);
    for (const Node* node : order) {
      if (item_of_[node->id()] != kNone) continue;
      item_of_[node->id()] = static_cast<uint32_t>(unit_of_.size());
      unit_of_.push_back(kNone);
    }
    BuildEdges(order);
  }

  uint32_t item_of(const Node& node) const { return item_of_[node.id()]; }
  uint32_t unit_of(uint32_t item) const { return unit_of_[item]; }
  bool has_unit(uint32_t item) const { return unit_of_[item] != kNone; }
  // For other units, an exact unit is like an unsupported node: a group can't contain it.
  bool supported(uint32_t item) const { return has_unit(item) && is_exact_[item] == 0; }
  const AdjacencyList& edges() const { return edges_; }

 private:
  template <typename Visit>
  void ForEachEdge(const std::vector<Node*>& order, Visit visit) const {
    for (const Node* node : order) {
      const uint32_t from = item_of(*node);
      for (const ValueDef* output : node->outputs()) {
        if (output == nullptr) continue;
        for (const Node* consumer : output->consumers()) {
          if (item_of(*consumer) != from) visit(from, item_of(*consumer));
        }
      }
    }
  }

  void BuildEdges(const std::vector<Node*>& order) {
    edges_.begin.assign(unit_of_.size() + 1, 0);
    ForEachEdge(order, [this](uint32_t from, uint32_t) { ++edges_.begin[from + 1]; });
    for (size_t i = 1; i < edges_.begin.size(); ++i) edges_.begin[i] += edges_.begin[i - 1];
    edges_.targets.resize(edges_.begin.back());
    std::vector<uint64_t> next(edges_.begin.begin(), edges_.begin.end() - 1);
    ForEachEdge(order, [&](uint32_t from, uint32_t to) { edges_.targets[next[from]++] = to; });
  }

  std::vector<uint32_t> item_of_;
  std::vector<uint32_t> unit_of_;
  std::vector<char> is_exact_;
  AdjacencyList edges_;
};

// Drops units on a cycle with a node outside of all units, or with an exact unit: they can't be fused. Drops one unit
// in each such component per round while rounds last, then all of them. Returns whether a unit was dropped.
bool DropCyclicUnits(const Quotient& quotient, std::span<const std::vector<Node*>> units,
                     const StrongComponents& components, bool all, std::vector<char>* dropped) {
  std::vector<uint32_t> size(components.count, 0);
  std::vector<char> has_outsider(components.count, 0);
  for (uint32_t item = 0; item < components.of.size(); ++item) {
    ++size[components.of[item]];
    if (!quotient.supported(item)) has_outsider[components.of[item]] = 1;
  }
  bool any = false;
  for (uint32_t item = static_cast<uint32_t>(components.of.size()); item-- > 0;) {
    const uint32_t component = components.of[item];
    if (size[component] < 2 || has_outsider[component] == 0 || !quotient.has_unit(item)) continue;
    // A unit of one node can't close a cycle; it only lies on one.
    if (units[quotient.unit_of(item)].size() < 2) continue;
    (*dropped)[quotient.unit_of(item)] = 1;
    if (!all) size[component] = 0;
    any = true;
  }
  return any;
}

// Depth of each component. For a supported item, it is the largest number of times that a path to it leaves the
// supported set and comes back. For any other item, it is the depth of its deepest supported ancestor, -1 if there is
// none.
//
// Along an edge the depth never falls, and it rises from an unsupported item to a supported one. So all supported items
// of one depth form a convex group, and the groups form no cycle.
std::vector<int32_t> Depths(const Quotient& quotient, const StrongComponents& components) {
  std::vector<int32_t> depth(components.count, -1);
  std::vector<uint64_t> begin(components.count + 1, 0);
  for (const uint32_t component : components.of) ++begin[component + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<uint32_t> items(components.of.size());
  std::vector<uint64_t> next(begin.begin(), begin.end() - 1);
  for (uint32_t item = 0; item < components.of.size(); ++item) {
    items[next[components.of[item]]++] = item;
    if (quotient.supported(item)) depth[components.of[item]] = 0;
  }
  // Components are numbered in reverse topological order.
  for (uint32_t component = components.count; component-- > 0;) {
    for (uint64_t i = begin[component]; i < begin[component + 1]; ++i) {
      const bool supported = quotient.supported(items[i]);
      for (const uint32_t target : quotient.edges().of(items[i])) {
        const int32_t step = !supported && quotient.supported(target) ? 1 : 0;
        int32_t& reached = depth[components.of[target]];
        if (components.of[target] != component) reached = std::max(reached, depth[component] + step);
      }
    }
  }
  return depth;
}

// The connected parts of a group, by values or units, in the group's order. Each part is convex as the group is: a path
// that leaves one part and enters another would leave the group and come back.
class ConnectedParts {
 public:
  ConnectedParts(const Quotient& quotient, const std::vector<Node*>& group) : quotient_(quotient) {
    for (const Node* node : group) parent_.emplace(quotient.item_of(*node), quotient.item_of(*node));
    for (const Node* node : group) {
      for (const uint32_t target : quotient.edges().of(quotient.item_of(*node))) {
        if (parent_.contains(target)) parent_[Root(target)] = Root(quotient.item_of(*node));
      }
    }
  }
  std::vector<std::vector<Node*>> Of(const std::vector<Node*>& group) {
    std::unordered_map<uint32_t, size_t> part_of;
    std::vector<std::vector<Node*>> parts;
    for (Node* node : group) {
      const auto [part, is_new] = part_of.emplace(Root(quotient_.item_of(*node)), parts.size());
      if (is_new) parts.emplace_back();
      parts[part->second].push_back(node);
    }
    return parts;
  }

 private:
  uint32_t Root(uint32_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }

  const Quotient& quotient_;
  std::unordered_map<uint32_t, uint32_t> parent_;
};

// Supported items grouped by depth, with exact units in between. The exact units of one depth come after the group of
// that depth and before the next, in topological order.
std::vector<std::vector<Node*>> GroupByDepth(const Quotient& quotient, const StrongComponents& components,
                                             const std::vector<Node*>& order, bool only_connected) {
  const std::vector<int32_t> depth = Depths(quotient, components);
  std::vector<std::vector<Node*>> merged;
  std::map<int32_t, std::vector<std::vector<Node*>>> exact;  // key: depth
  std::unordered_map<uint32_t, std::pair<int32_t, size_t>> exact_at;
  for (Node* node : order) {
    const uint32_t item = quotient.item_of(*node);
    if (!quotient.has_unit(item)) continue;
    const int32_t at = depth[components.of[item]];
    if (quotient.supported(item)) {
      const auto group = static_cast<size_t>(at);
      if (merged.size() <= group) merged.resize(group + 1);
      merged[group].push_back(node);
      continue;
    }
    std::vector<std::vector<Node*>>& there = exact[at];
    const auto [place, is_new] = exact_at.emplace(item, std::pair(at, there.size()));
    if (is_new) there.emplace_back();
    there[place->second.second].push_back(node);
  }
  std::vector<std::vector<Node*>> groups;
  for (int32_t at = -1; at < static_cast<int32_t>(merged.size()); ++at) {
    if (at >= 0) {
      std::vector<Node*>& group = merged[static_cast<size_t>(at)];
      if (only_connected) {
        for (std::vector<Node*>& part : ConnectedParts(quotient, group).Of(group)) groups.push_back(std::move(part));
      } else {
        groups.push_back(std::move(group));
      }
    }
    for (std::vector<Node*>& unit : exact[at]) groups.push_back(std::move(unit));
  }
  return groups;
}

}  // namespace

std::vector<std::vector<Node*>> FormConvexGroups(const Graph& graph, std::span<const std::vector<Node*>> units,
                                                 const GroupingRules& rules) {
  constexpr int kGentleRounds = 8;
  const std::vector<Node*> order = graph.TopologicalOrder();
  std::vector<char> dropped(units.size(), 0);
  for (int round = 0;; ++round) {
    const Quotient quotient(graph, order, units, dropped, rules.exact);
    const StrongComponents components = FindStrongComponents(quotient.edges());
    if (DropCyclicUnits(quotient, units, components, round >= kGentleRounds, &dropped)) continue;
    return GroupByDepth(quotient, components, order, rules.only_connected);
  }
}

bool IsConvex(const Graph&, std::span<Node* const> nodes) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  uint32_t last = 0;
  for (const Node* node : nodes) last = std::max(last, node->id());
  std::vector<const Node*> pending(nodes.begin(), nodes.end());
  std::unordered_set<const Node*> outside;
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    const bool is_outside = !inside.contains(node);
    for (const ValueDef* output : node->outputs()) {
      if (output == nullptr) continue;
      for (const Node* consumer : output->consumers()) {
        if (inside.contains(consumer)) {
          if (is_outside) return false;
        } else if (consumer->id() < last && outside.insert(consumer).second) {
          pending.push_back(consumer);
        }
      }
    }
  }
  return true;
}

}  // namespace epiphyte::core
