#include "epiphyte/kit/qdq/host_units.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/import.hpp"

namespace epiphyte::kit::qdq {
namespace {

// Sets of units that share nodes, each in order; single nodes are in none.
std::vector<std::vector<int32_t>> SetsThatShare(const Units& found) {
  std::vector<int32_t> parent(found.units.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](int32_t unit) {
    while (parent[static_cast<size_t>(unit)] != unit) {
      int32_t& up = parent[static_cast<size_t>(unit)];
      up = parent[static_cast<size_t>(up)];
      unit = up;
    }
    return unit;
  };
  for (size_t unit = 0; unit < found.units.size(); ++unit) {
    for (const int32_t node : found.units[unit].shared)
      parent[static_cast<size_t>(root(static_cast<int32_t>(unit)))] =
          root(found.unit_of_node[static_cast<size_t>(node)]);
  }
  std::vector<std::vector<int32_t>> sets;
  std::vector<int32_t> set_of(found.units.size(), -1);
  for (size_t unit = 0; unit < found.units.size(); ++unit) {
    if (!found.units[unit].IsQdq()) continue;
    int32_t& set = set_of[static_cast<size_t>(root(static_cast<int32_t>(unit)))];
    if (set < 0) {
      set = static_cast<int32_t>(sets.size());
      sets.emplace_back();
    }
    sets[static_cast<size_t>(set)].push_back(static_cast<int32_t>(unit));
  }
  return sets;
}

// Paths that leave a set of nodes and come back.
class Paths {
 public:
  explicit Paths(const ir::Editor& editor) : editor_(editor), mark_(static_cast<size_t>(editor.node_count()), 0) {}

  // Those of `nodes`, which are sorted, that a path reaches from one of them through others.
  std::vector<int32_t> Reentered(const std::vector<int32_t>& nodes) {
    // Three marks a question, above those of the questions before.
    const uint64_t inside = mark_of_last_ + 1;
    const uint64_t reentered = inside + 1;
    const uint64_t outside = inside + 2;
    mark_of_last_ = outside;
    for (const int32_t n : nodes) mark(n) = inside;
    std::vector<int32_t> found;
    std::vector<int32_t> work;
    const auto visit = [&](int32_t n, bool from_inside) {
      for (const int32_t value : editor_.node(n).outputs) {
        if (value < 0) continue;
        for (const int32_t reader : editor_.Readers(value)) {
          if (mark(reader) == inside && !from_inside) {
            mark(reader) = reentered;
            found.push_back(reader);
          } else if (mark(reader) < inside && reader < nodes.back()) {
            mark(reader) = outside;
            work.push_back(reader);
          }
        }
      }
    };
    for (const int32_t n : nodes) visit(n, true);
    while (!work.empty()) {
      const int32_t n = work.back();
      work.pop_back();
      visit(n, false);
    }
    return found;
  }

 private:
  uint64_t& mark(int32_t n) { return mark_[static_cast<size_t>(n)]; }

  const ir::Editor& editor_;
  std::vector<uint64_t> mark_;  // by node
  uint64_t mark_of_last_ = 0;
};

std::vector<int32_t> NodesOf(const Units& found, const std::vector<int32_t>& set) {
  std::vector<int32_t> nodes;
  for (const int32_t unit : set) {
    const std::vector<int32_t>& more = found.units[static_cast<size_t>(unit)].nodes;
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Group GroupOf(const ir::Editor& editor, const Units& found, std::vector<int32_t> set) {
  Group group;
  for (const int32_t n : NodesOf(found, set)) group.nodes.push_back(editor.node(n).handle);
  for (const int32_t unit : set) {
    if (!group.name.empty()) group.name += '+';
    group.name += editor.node(found.units[static_cast<size_t>(unit)].target).op_type;
  }
  group.units = std::move(set);
  return group;
}

constexpr const char* kMisfit =
    "a DequantizeLinear that it reads is read elsewhere, too, and a path leads from there to it through nodes outside "
    "of such units: give each reader one of its own";

}  // namespace

std::vector<Group> FindGroups(const ir::Editor& editor, const Options& options, const Surroundings& surroundings,
                              Units* found) {
  constexpr int kMostRounds = 8;  // then units that share are given up for good
  std::vector<bool> misfit(static_cast<size_t>(editor.node_count()), false);
  Options fitting = options;
  fitting.refuse = [&](const ir::Editor& in, const Unit& unit) -> std::string {
    if (misfit[static_cast<size_t>(unit.target)]) return kMisfit;
    return options.refuse ? options.refuse(in, unit) : "";
  };
  Paths paths(editor);
  for (int round = 0;; ++round) {
    *found = FindUnits(editor, fitting, surroundings);
    std::vector<std::vector<int32_t>> sets = SetsThatShare(*found);
    bool all_fit = true;
    for (const std::vector<int32_t>& set : sets) {
      const std::vector<int32_t> nodes = NodesOf(*found, set);
      const std::vector<int32_t> reentered = paths.Reentered(nodes);
      all_fit = all_fit && reentered.empty();
      if (reentered.empty()) continue;
      for (const int32_t node : round < kMostRounds ? reentered : nodes) {
        const Unit& unit = found->units[static_cast<size_t>(found->unit_of_node[static_cast<size_t>(node)])];
        misfit[static_cast<size_t>(unit.target)] = true;
      }
    }
    if (!all_fit) continue;
    std::vector<Group> groups;
    groups.reserve(sets.size());
    for (std::vector<int32_t>& set : sets) groups.push_back(GroupOf(editor, *found, std::move(set)));
    return groups;
  }
}

HostUnits FindHostUnits(const EpHostInfo& host, const EpGraph* graph, const Options& options) {
  HostUnits units;
  units.graph = ir::Import(host, graph, "");
  Surroundings surroundings;
  for (const ir::Node& node : units.graph.nodes) {
    EpNodeInfo info = {};
    info.struct_size = sizeof info;
    ThrowIfFailed(host, host.graph->GetNodeInfo(node.handle, &info));
    surroundings.taken.push_back((info.flags & EP_NODE_PLACED) != 0);
  }
  const ir::Editor editor(units.graph);
  units.groups = FindGroups(editor, options, surroundings, &units.found);
  return units;
}

}  // namespace epiphyte::kit::qdq
