#include "epiphyte/kit/qdq/host_units.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/import.hpp"

namespace epiphyte::kit::qdq {
namespace {

// Disjoint sets of units.
class Sets {
 public:
  explicit Sets(size_t units) : parent_(units) { std::iota(parent_.begin(), parent_.end(), 0); }

  void Join(int32_t a, int32_t b) { parent_[static_cast<size_t>(Root(a))] = Root(b); }

  int32_t Root(int32_t unit) {
    while (parent_[static_cast<size_t>(unit)] != unit) {
      int32_t& up = parent_[static_cast<size_t>(unit)];
      up = parent_[static_cast<size_t>(up)];
      unit = up;
    }
    return unit;
  }

  // The sets of QDQ units, in order. Single nodes are in no set.
  std::vector<std::vector<int32_t>> OfQdq(const Units& found) {
    std::vector<std::vector<int32_t>> sets;
    std::vector<int32_t> set_of(parent_.size(), -1);
    for (size_t unit = 0; unit < parent_.size(); ++unit) {
      if (!found.units[unit].IsQdq()) continue;
      int32_t& set = set_of[static_cast<size_t>(Root(static_cast<int32_t>(unit)))];
      if (set < 0) {
        set = static_cast<int32_t>(sets.size());
        sets.emplace_back();
      }
      sets[static_cast<size_t>(set)].push_back(static_cast<int32_t>(unit));
    }
    return sets;
  }

 private:
  std::vector<int32_t> parent_;
};

Sets ThoseThatShare(const Units& found) {
  Sets sets(found.units.size());
  for (size_t unit = 0; unit < found.units.size(); ++unit)
    for (const int32_t node : found.units[unit].shared)
      sets.Join(static_cast<int32_t>(unit), found.unit_of_node[static_cast<size_t>(node)]);
  return sets;
}

// The units and nodes on paths that leave a set of nodes and return to it.
struct Between {
  std::vector<int32_t> units;      // QDQ units on paths that lead through QDQ units only
  std::vector<int32_t> reentered;  // nodes of the set at the end of paths through nodes that are in no QDQ unit
};

class Paths {
 public:
  Paths(const ir::Editor& editor, const Units& found)
      : editor_(editor), found_(found), mark_(static_cast<size_t>(editor.node_count()), 0) {}

  // Follows the paths that leave `nodes`, which must be sorted.
  Between Leaving(const std::vector<int32_t>& nodes) {
    first_ = last_ + 1;
    last_ = first_ + kMarks - 1;
    for (const int32_t n : nodes) SetMark(n, kInside);
    Between between;
    std::vector<int32_t> passed;  // nodes of QDQ units
    for (const int32_t n : nodes) Visit(n, kInside, nodes.back(), &between, &passed);
    while (!work_.empty()) {
      const int32_t n = work_.back();
      work_.pop_back();
      Visit(n, MarkOf(n), nodes.back(), &between, &passed);
    }
    // A passed node counts if one of its readers is in the set or leads back to it. The loop therefore visits readers
    // before producers.
    std::sort(passed.begin(), passed.end(), std::greater<>());
    passed.erase(std::unique(passed.begin(), passed.end()), passed.end());
    for (const int32_t n : passed) {
      if (MarkOf(n) != kThroughUnits || !LeadsBack(n)) continue;
      SetMark(n, kLeadsBack);
      between.units.push_back(found_.unit_of_node[static_cast<size_t>(n)]);
    }
    return between;
  }

 private:
  // How a node was reached. Later values take precedence.
  enum Mark : uint8_t { kUnseen, kThroughUnits, kThroughOthers, kInside, kReentered, kLeadsBack, kMarks };

  Mark MarkOf(int32_t n) const {
    const uint64_t mark = mark_[static_cast<size_t>(n)];
    return mark < first_ ? kUnseen : static_cast<Mark>(mark - first_);
  }
  void SetMark(int32_t n, Mark mark) { mark_[static_cast<size_t>(n)] = first_ + mark; }
  bool IsInUnit(int32_t n) const {
    const int32_t unit = found_.unit_of_node[static_cast<size_t>(n)];
    return unit >= 0 && found_.units[static_cast<size_t>(unit)].IsQdq();
  }

  template <typename Body>
  void ForEachReader(int32_t n, Body&& body) const {
    for (const int32_t value : editor_.node(n).outputs)
      if (value >= 0)
        for (const int32_t reader : editor_.Readers(value)) body(reader);
  }

  void Visit(int32_t n, Mark how, int32_t last, Between* between, std::vector<int32_t>* passed) {
    ForEachReader(n, [&](int32_t reader) {
      const Mark seen = MarkOf(reader);
      if (seen >= kInside) {
        if (seen != kInside || how != kThroughOthers) return;
        SetMark(reader, kReentered);
        between->reentered.push_back(reader);
        return;
      }
      const Mark mark = how == kThroughOthers || !IsInUnit(reader) ? kThroughOthers : kThroughUnits;
      if (seen >= mark || reader >= last) return;
      SetMark(reader, mark);
      work_.push_back(reader);
      if (mark == kThroughUnits) passed->push_back(reader);
    });
  }

  bool LeadsBack(int32_t n) const {
    bool leads = false;
    ForEachReader(n, [&](int32_t reader) { leads = leads || MarkOf(reader) >= kInside; });
    return leads;
  }

  const ir::Editor& editor_;
  const Units& found_;
  std::vector<uint64_t> mark_;  // for each node; marks of each call lie above those of earlier calls
  uint64_t first_ = 0, last_ = 0;
  std::vector<int32_t> work_;
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
  constexpr int kMostRounds = 8;  // after that many rounds, remaining units that share nodes are dropped
  std::vector<bool> misfit(static_cast<size_t>(editor.node_count()), false);
  Options fitting = options;
  fitting.refuse = [&](const ir::Editor& in, const Unit& unit) -> std::string {
    if (misfit[static_cast<size_t>(unit.target)]) return kMisfit;
    return options.refuse ? options.refuse(in, unit) : "";
  };
  for (int round = 0;; ++round) {
    *found = FindUnits(editor, fitting, surroundings);
    Paths paths(editor, *found);
    Sets sets = ThoseThatShare(*found);
    bool all_fit = true, grows = true;
    while (all_fit && grows) {
      grows = false;
      for (const std::vector<int32_t>& set : sets.OfQdq(*found)) {
        const std::vector<int32_t> nodes = NodesOf(*found, set);
        const Between between = paths.Leaving(nodes);
        for (const int32_t unit : between.units) sets.Join(unit, set.front());
        grows = grows || !between.units.empty();
        all_fit = all_fit && between.reentered.empty();
        if (between.reentered.empty()) continue;
        for (const int32_t node : round < kMostRounds ? between.reentered : nodes) {
          const Unit& unit = found->units[static_cast<size_t>(found->unit_of_node[static_cast<size_t>(node)])];
          misfit[static_cast<size_t>(unit.target)] = true;
        }
      }
    }
    if (!all_fit) continue;
    std::vector<Group> groups;
    for (std::vector<int32_t>& set : sets.OfQdq(*found)) groups.push_back(GroupOf(editor, *found, std::move(set)));
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
