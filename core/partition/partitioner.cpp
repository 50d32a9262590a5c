#include "core/partition/partitioner.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"
#include "core/graph/context_node.h"
#include "core/graph/graph_path.h"
#include "core/partition/convex_groups.h"
#include "core/partition/dissolve_partition.h"

namespace epiphyte::core {

// One graph with the placement entries of its nodes.
struct PartitionedGraph {
  static constexpr uint32_t kNoEntry = static_cast<uint32_t>(-1);

  Graph* graph = nullptr;
  std::string path;
  std::vector<uint32_t> entry_of;  // indexed by node id; fused nodes have kNoEntry
  // Placement entries of the nodes in each partition, in the order of its graph.
  std::map<const Node*, std::vector<uint32_t>> entries_of_partition;
};

namespace {

// Node count above which no picture is made: it would be unreadable, and its edges would cost more than the report.
constexpr size_t kLargestPicture = 5000;

bool IsHostOperator(const Node& node) { return node.Is("If") || node.Is("Loop") || node.Is("Scan"); }

std::string Describe(const Node& node) { return fmt::format("{} node '{}'", node.op_type(), node.name()); }

// Visits the bodies of a node, each with its path in reports.
template <typename Visit>
void ForEachBody(const Node& node, uint32_t id, const std::string& path, Visit visit) {
  for (const std::unique_ptr<Attribute>& attribute : node.attributes()) {
    const auto& bodies = attribute->graphs();
    for (size_t i = 0; i < bodies.size(); ++i) visit(*bodies[i], BodyPath(path, node, id, *attribute, i));
  }
}

// Takes the names of all nodes, including nested graphs and the names by which plugins know context nodes.
void TakeNodeNames(const Graph& graph, PartitionNames* names) {
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    if (node == nullptr) continue;
    names->Take(node->name());
    if (IsContextNode(*node)) names->Take(node->StringAttribute("partition_name"));
    for (const Graph* body : node->subgraphs()) TakeNodeNames(*body, names);
  }
}

void RemoveUnusedConstants(Graph& graph) {
  std::vector<ValueDef*> unused;
  for (const std::unique_ptr<ValueDef>& value : graph.values()) {
    if (value != nullptr && value->IsConstant() && value->consumers().empty() && !value->IsOutput()) {
      unused.push_back(value.get());
    }
  }
  for (ValueDef* value : unused) graph.RemoveValue(value);
}

class Partitioner {
 public:
  Partitioner(std::span<PartitionProvider> providers, std::string_view name_prefix, PartitionNames names,
              const ProgressCallback& on_progress, PartitionResult begun = {})
      : providers_(providers),
        order_(AskingOrder(providers)),
        prefix_(name_prefix),
        names_(std::move(names)),
        on_progress_(on_progress),
        result_(std::move(begun)) {
    result_.placement.providers.clear();
    for (const PartitionProvider& provider : providers_) result_.placement.providers.push_back(provider.name);
    for (const std::shared_ptr<PartitionedGraph>& level : result_.graphs) partitioned_.insert(level->graph);
  }

  void Run(Graph& graph, const std::string& path);
  void OfferAgain(std::span<const DeclinedPartition> declined, int32_t provider);
  PartitionResult Take() { return std::move(result_); }

 private:
  // One graph while it is being partitioned.
  using Level = PartitionedGraph;
  static constexpr uint32_t kNoEntry = Level::kNoEntry;

  NodePlacement& Entry(const Level& level, const Node& node) {
    return result_.placement.nodes[level.entry_of[node.id()]];
  }
  void Report(Graph& graph, const std::string& path);
  void ReportEdges(const Graph& graph, uint32_t base);
  void ReportWhole(const Node& node, uint32_t id, const std::string& path, const NodePlacement& holder);
  void Warn(std::string text) { result_.placement.warnings.push_back(std::move(text)); }

  void TakeContextNodes(Level& level);
  void Ask(Level& level, int32_t provider);
  std::vector<std::vector<Node*>> CheckedUnits(const Level& level, int32_t provider, Capability& capability);
  void RecordDeclines(const Level& level, int32_t provider, const Capability& capability);
  bool IsLeftToCore(int32_t provider, const Node& node) const {
    return (providers_[provider].last_resort && IsHostOperator(node)) || IsPartitionedWithin(node);
  }
  // A node with partitioned bodies can no longer be taken as a whole.
  bool IsPartitionedWithin(const Node& node) const {
    return std::any_of(node.subgraphs().begin(), node.subgraphs().end(),
                       [&](const Graph* body) { return IsPartitioned(body); });
  }
  bool IsPartitioned(const Graph* graph) const { return partitioned_.contains(graph); }
  // Whether the provider is asked about the node at all.
  bool IsFor(int32_t provider, const Node& node) const { return !IsContextNode(node) && !IsLeftToCore(provider, node); }
  void Fuse(Level& level, int32_t provider, const std::vector<Node*>& group);
  void NoteClaims(const std::vector<Node*>& group, const std::map<const Node*, UnitNote>& notes);
  void Refresh(Level& level);
  void PartitionBodies(Level& level);
  void Dissolve(Level& level, const Partition& partition, const std::string& reason);
  void DropEntries(const std::vector<char>& dropped);
  void ForgetDeclines(Level& level, std::span<const int32_t> providers);

  std::span<PartitionProvider> providers_;
  std::vector<int32_t> order_;
  std::string_view prefix_;
  PartitionNames names_;
  const ProgressCallback& on_progress_;
  PartitionResult result_;
  std::unordered_set<const Graph*> partitioned_;  // the graphs of result_.graphs
};

void Partitioner::Report(Graph& graph, const std::string& path) {
  std::vector<NodePlacement>& entries = result_.placement.nodes;
  // Reserves for the first graph only: many small bodies must not each cause a copy.
  if (entries.empty()) entries.reserve(graph.node_count());
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    NodePlacement& entry = entries.emplace_back();
    entry.graph = path;
    entry.node_id = node->id();
    entry.name = node->name();
    entry.op_type = node->op_type();
    entry.domain = node->domain();
  }
}

void Partitioner::ReportEdges(const Graph& graph, uint32_t base) {
  if (graph.node_count() > kLargestPicture) return;
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    const auto add = [&](const ValueDef* value) {
      if (value == nullptr || value->producer() == nullptr) return;
      result_.placement.edges.emplace_back(base + value->producer()->id(), base + node->id());
    };
    std::for_each(node->inputs().begin(), node->inputs().end(), add);
    std::for_each(node->implicit_inputs().begin(), node->implicit_inputs().end(), add);
  }
}

// Reports the nodes in the bodies of a node that a provider took as a whole.
void Partitioner::ReportWhole(const Node& node, uint32_t id, const std::string& path, const NodePlacement& holder) {
  if (node.subgraphs().empty()) return;
  const NodePlacement taken = holder;
  ForEachBody(node, id, path, [&](Graph& body, const std::string& body_path) {
    const auto base = static_cast<uint32_t>(result_.placement.nodes.size());
    Report(body, body_path);
    ReportEdges(body, base);
    for (const std::unique_ptr<Node>& inner : body.nodes()) {
      NodePlacement& entry = result_.placement.nodes[base + inner->id()];
      entry.provider = taken.provider;
      entry.device = taken.device;
      entry.partition = taken.partition;
    }
    for (const std::unique_ptr<Node>& inner : body.nodes()) ReportWhole(*inner, inner->id(), body_path, taken);
  });
}

void Partitioner::Run(Graph& graph, const std::string& path) {
  graph.Finalize();
  const auto kept = std::make_shared<Level>();
  result_.graphs.push_back(kept);
  partitioned_.insert(&graph);
  Level& level = *kept;
  level.graph = &graph;
  level.path = path;
  const auto base = static_cast<uint32_t>(result_.placement.nodes.size());
  Report(graph, path);
  ReportEdges(graph, base);
  level.entry_of.resize(graph.node_count());
  for (uint32_t i = 0; i < level.entry_of.size(); ++i) level.entry_of[i] = base + i;

  TakeContextNodes(level);
  for (const int32_t provider : order_) Ask(level, provider);
  PartitionBodies(level);
}

// Partitions the bodies of the nodes that no provider took.
void Partitioner::PartitionBodies(Level& level) {
  for (const std::unique_ptr<Node>& node : level.graph->nodes()) {
    if (node->provider != kUnplaced || node->subgraphs().empty()) continue;
    const uint32_t id = Entry(level, *node).node_id;
    if (IsHostOperator(*node)) Entry(level, *node).is_run_by_host = true;
    ForEachBody(*node, id, level.path, [this](Graph& body, const std::string& body_path) {
      if (!IsPartitioned(&body)) Run(body, body_path);
    });
  }
  // Constants go last, because bodies may have stopped using values of this graph.
  RemoveUnusedConstants(*level.graph);
  Refresh(level);
}

void Partitioner::TakeContextNodes(Level& level) {
  for (const std::unique_ptr<Node>& node : level.graph->nodes()) {
    if (!IsContextNode(*node) || node->provider < 0 || static_cast<size_t>(node->provider) >= providers_.size())
      continue;
    Partition& partition = result_.partitions.emplace_back();
    partition.name = node->name().empty() ? node->StringAttribute("partition_name") : node->name();
    partition.provider = node->provider;
    partition.node = node.get();
    partition.is_context = true;
    NodePlacement& entry = Entry(level, *node);
    entry.provider = providers_[node->provider].name;
    entry.device = providers_[node->provider].device;
    entry.partition = partition.name;
  }
}

// The ABI layer has checked the providers' answers already; these checks need the partitioner's knowledge.
std::vector<std::vector<Node*>> Partitioner::CheckedUnits(const Level& level, int32_t provider,
                                                          Capability& capability) {
  std::vector<std::vector<Node*>> units;
  units.reserve(capability.units.size());
  std::vector<uint32_t> claimed_by(level.graph->nodes().size(), 0);
  uint32_t number = 0;
  for (std::vector<Node*>& unit : capability.units) {
    ++number;
    const auto is_refused = [&](const Node* node) {
      if (&node->graph() != level.graph || node->provider != kUnplaced || HoldsContextNode(*node)) return true;
      return std::exchange(claimed_by[node->id()], number) != 0;
    };
    if (std::any_of(unit.begin(), unit.end(), [&](const Node* node) { return IsLeftToCore(provider, *node); }))
      continue;
    const auto refused = std::find_if(unit.begin(), unit.end(), is_refused);
    if (refused != unit.end()) {
      Warn(fmt::format("{}: claim on {} dropped: it is placed or claimed already, or holds an EP context",
                       providers_[provider].name, Describe(**refused)));
      continue;
    }
    if (!unit.empty()) units.push_back(std::move(unit));
  }
  return units;
}

void Partitioner::RecordDeclines(const Level& level, int32_t provider, const Capability& capability) {
  const std::string& name = providers_[provider].name;
  std::vector<char> explained(level.graph->nodes().size(), 0);
  for (const auto& [node, reason] : capability.declined) {
    if (node == nullptr || &node->graph() != level.graph || node->provider != kUnplaced) continue;
    if (std::exchange(explained[node->id()], 1) == 0) Entry(level, *node).declines.push_back({name, reason});
  }
  for (const std::unique_ptr<Node>& node : level.graph->nodes()) {
    if (node->provider != kUnplaced || explained[node->id()] != 0 || !IsFor(provider, *node)) continue;
    Entry(level, *node).declines.push_back({name, "no reason given"});
  }
}

void Partitioner::Ask(Level& level, int32_t provider) {
  const auto is_candidate = [&](const auto& node) { return node->provider == kUnplaced && IsFor(provider, *node); };
  if (std::none_of(level.graph->nodes().begin(), level.graph->nodes().end(), is_candidate)) return;
  Capability capability = providers_[provider].get_capability(*level.graph);
  ReportProgress(on_progress_, 0, 0, "checking claims");
  for (std::string& warning : capability.warnings) Warn(std::move(warning));

  std::map<const Node*, UnitNote> notes;  // key: first node of the unit
  for (auto& [unit, note] : capability.notes) {
    if (unit < capability.units.size() && !capability.units[unit].empty()) {
      notes[capability.units[unit].front()] = std::move(note);
    }
  }
  const std::vector<std::vector<Node*>> units = CheckedUnits(level, provider, capability);
  ReportProgress(on_progress_, 0, 0, "grouping");
  GroupingRules rules;
  rules.only_connected = capability.only_connected;
  if (!notes.empty()) {
    rules.exact.resize(units.size());
    for (size_t i = 0; i < units.size(); ++i) {
      const auto note = notes.find(units[i].front());
      rules.exact[i] = note != notes.end() && note->second.exact;
    }
  }
  const std::vector<std::vector<Node*>> groups = FormConvexGroups(*level.graph, units, rules);
  // Marks the groups' nodes as placed, so that the rest are the declined ones.
  for (const std::vector<Node*>& group : groups) {
    for (Node* node : group) node->provider = provider;
  }
  for (const std::vector<Node*>& unit : units) {
    if (unit.front()->provider == kUnplaced) {
      Warn(fmt::format("{}: group of {} nodes with {} dropped: fusing it would make a cycle", providers_[provider].name,
                       unit.size(), Describe(*unit.front())));
    }
  }
  RecordDeclines(level, provider, capability);
  uint64_t nodes_fused = 0;
  uint64_t nodes_told = 0;
  for (const std::vector<Node*>& group : groups) {
    Fuse(level, provider, group);
    NoteClaims(group, notes);
    nodes_fused += group.size();
    if (nodes_fused - nodes_told < kNodesPerReport) continue;
    nodes_told = nodes_fused;
    ReportProgress(on_progress_, nodes_fused, 0, "taking groups out");
  }
  if (!groups.empty()) Refresh(level);
}

void Partitioner::Fuse(Level& level, int32_t provider, const std::vector<Node*>& group) {
  Partition& partition = result_.partitions.emplace_back();
  partition.name = names_.Next(prefix_, level.graph->name(), providers_[provider].name);
  partition.provider = provider;
  std::vector<Node*> sorted = group;
  std::sort(sorted.begin(), sorted.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  std::vector<uint32_t> entries;
  entries.reserve(sorted.size());
  for (const Node* node : sorted) {
    NodePlacement& entry = Entry(level, *node);
    entries.push_back(level.entry_of[node->id()]);
    entry.provider = providers_[provider].name;
    entry.is_run_by_host = false;
    entry.device = providers_[provider].device;
    entry.partition = partition.name;
    const uint32_t id = entry.node_id;
    ReportWhole(*node, id, level.path, entry);
  }
  Graph::Boundary boundary;
  partition.graph = level.graph->Detach(group, partition.name, &boundary);
  partition.node = level.graph->AddNode(kPartitionOp, kPartitionDomain, 1, std::move(boundary.inputs),
                                        std::move(boundary.outputs), {}, partition.name);
  partition.node->provider = provider;
  level.entry_of.push_back(kNoEntry);
  level.entries_of_partition[partition.node] = std::move(entries);
}

// Notes the provider's claims about the units that became the last partition.
void Partitioner::NoteClaims(const std::vector<Node*>& group, const std::map<const Node*, UnitNote>& notes) {
  if (notes.empty()) return;
  PartitionClaims claims;
  for (const Node* node : group) {
    const auto note = notes.find(node);
    if (note == notes.end()) continue;
    if (!note->second.name.empty()) claims.names.push_back(note->second.name);
    claims.memory_bytes += std::min(note->second.memory_bytes, UINT64_MAX - claims.memory_bytes);
  }
  if (claims.names.empty() && claims.memory_bytes == 0) return;
  result_.placement.claims[result_.partitions.back().name] = std::move(claims);
}

// Sorts the changed graph, which gives its nodes new ids.
void Partitioner::Refresh(Level& level) {
  std::vector<std::pair<const Node*, uint32_t>> entries;
  entries.reserve(level.graph->node_count());
  for (const std::unique_ptr<Node>& node : level.graph->nodes()) {
    if (node != nullptr) entries.emplace_back(node.get(), level.entry_of[node->id()]);
  }
  level.graph->Finalize();
  level.entry_of.assign(entries.size(), kNoEntry);
  for (const auto& [node, entry] : entries) level.entry_of[node->id()] = entry;
}

// Dissolves `partition`, which isn't compiled yet, so that its nodes are free again. `reason`: why its provider gave it
// back; "" when it didn't.
void Partitioner::Dissolve(Level& level, const Partition& partition, const std::string& reason) {
  const std::vector<uint32_t> entries = std::move(level.entries_of_partition.extract(partition.node).mapped());
  std::vector<char> dropped(result_.placement.nodes.size(), 0);
  bool any_dropped = false;
  for (const uint32_t entry : entries) {
    NodePlacement& placement = result_.placement.nodes[entry];
    if (!reason.empty()) placement.declines.push_back({placement.provider, reason});
    placement.provider.clear();
    placement.device.clear();
    placement.partition.clear();
  }
  // The provider that takes these nodes reports their bodies anew.
  for (size_t i = 0; i < dropped.size(); ++i) {
    if (result_.placement.nodes[i].partition != partition.name) continue;
    dropped[i] = 1;
    any_dropped = true;
  }
  const std::vector<Node*> nodes = DissolvePartition(partition);
  for (size_t i = 0; i < nodes.size(); ++i) level.entry_of.push_back(entries[i]);
  if (any_dropped) DropEntries(dropped);
}

void Partitioner::DropEntries(const std::vector<char>& dropped) {
  Placement& placement = result_.placement;
  std::vector<uint32_t> moved(dropped.size(), kNoEntry);
  uint32_t next = 0;
  for (size_t i = 0; i < dropped.size(); ++i) {
    if (dropped[i] != 0) continue;
    if (next != i) placement.nodes[next] = std::move(placement.nodes[i]);
    moved[i] = next++;
  }
  placement.nodes.resize(next);
  std::erase_if(placement.edges,
                [&](const auto& edge) { return dropped[edge.first] != 0 || dropped[edge.second] != 0; });
  for (auto& [from, to] : placement.edges) {
    from = moved[from];
    to = moved[to];
  }
  for (const std::shared_ptr<Level>& level : result_.graphs) {
    for (uint32_t& entry : level->entry_of) {
      if (entry != kNoEntry) entry = moved[entry];
    }
    for (auto& [node, entries] : level->entries_of_partition) {
      for (uint32_t& entry : entries) entry = moved[entry];
    }
  }
}

// Removes the declines of providers that are asked once more about free nodes.
void Partitioner::ForgetDeclines(Level& level, std::span<const int32_t> providers) {
  for (const std::unique_ptr<Node>& node : level.graph->nodes()) {
    if (node->provider != kUnplaced) continue;
    std::erase_if(Entry(level, *node).declines, [&](const Decline& decline) {
      return std::any_of(providers.begin(), providers.end(),
                         [&](int32_t provider) { return providers_[provider].name == decline.provider; });
    });
  }
}

void Partitioner::OfferAgain(std::span<const DeclinedPartition> declined, int32_t provider) {
  const auto turn = [&](int32_t of) { return std::find(order_.begin(), order_.end(), of) - order_.begin(); };
  // Pointers, because asking adds graphs.
  std::vector<Level*> levels;
  for (const std::shared_ptr<Level>& level : result_.graphs) {
    const bool concerns = std::any_of(declined.begin(), declined.end(), [&](const DeclinedPartition& given_back) {
      return level->entries_of_partition.contains(given_back.node);
    });
    if (concerns) levels.push_back(level.get());
  }
  for (Level* level : levels) {
    std::vector<Partition> kept;
    std::vector<Partition> partitions = std::exchange(result_.partitions, {});
    for (Partition& partition : partitions) {
      const auto given_back = std::find_if(declined.begin(), declined.end(),
                                           [&](const DeclinedPartition& one) { return one.node == partition.node; });
      const bool is_here = level->entries_of_partition.contains(partition.node);
      if (is_here && (given_back != declined.end() || turn(partition.provider) > turn(provider))) {
        result_.placement.claims.erase(partition.name);
        Dissolve(*level, partition, given_back == declined.end() ? "" : given_back->reason);
      } else {
        kept.push_back(std::move(partition));
      }
    }
    result_.partitions = std::move(kept);
    Refresh(*level);
    const auto first = order_.begin() + turn(provider) + 1;
    ForgetDeclines(*level, {first, order_.end()});
    for (auto next = first; next != order_.end(); ++next) Ask(*level, *next);
    PartitionBodies(*level);
  }
}

}  // namespace

std::vector<int32_t> AskingOrder(std::span<const PartitionProvider> providers) {
  std::vector<int32_t> order;
  for (const bool last_resort : {false, true}) {
    for (size_t i = 0; i < providers.size(); ++i) {
      if (providers[i].last_resort == last_resort) order.push_back(static_cast<int32_t>(i));
    }
  }
  return order;
}

void OfferAgain(std::span<const DeclinedPartition> declined, int32_t provider, std::span<PartitionProvider> providers,
                std::string_view name_prefix, PartitionNames names, const ProgressCallback& on_progress,
                PartitionResult* result) {
  for (const std::shared_ptr<PartitionedGraph>& level : result->graphs) TakeNodeNames(*level->graph, &names);
  Partitioner partitioner(providers, name_prefix, std::move(names), on_progress, std::move(*result));
  partitioner.OfferAgain(declined, provider);
  *result = partitioner.Take();
}

PartitionResult PartitionGraph(Graph& graph, std::span<PartitionProvider> providers, std::string_view name_prefix,
                               PartitionNames names, const ProgressCallback& on_progress) {
  TakeNodeNames(graph, &names);
  Partitioner partitioner(providers, name_prefix, std::move(names), on_progress);
  partitioner.Run(graph, "");
  return partitioner.Take();
}

void AddNotes(std::span<const NodeNote> notes, PartitionResult* result) {
  std::unordered_map<const Node*, uint32_t> entry_of;
  for (const Partition& partition : result->partitions) {
    if (partition.is_context) continue;
    for (const std::shared_ptr<PartitionedGraph>& level : result->graphs) {
      const auto entries = level->entries_of_partition.find(partition.node);
      if (entries == level->entries_of_partition.end()) continue;
      const std::vector<Node*> nodes = partition.graph->TopologicalOrder();
      for (size_t i = 0; i < nodes.size() && i < entries->second.size(); ++i) entry_of[nodes[i]] = entries->second[i];
    }
  }
  for (const NodeNote& note : notes)
    if (const auto found = entry_of.find(note.node); found != entry_of.end())
      result->placement.nodes[found->second].notes.push_back(note.text);
}

}  // namespace epiphyte::core
