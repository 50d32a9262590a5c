// Partitioner: asks providers in order of priority for the nodes they can run, forms groups, and replaces each group by
// one node.
//
// The first provider that claims a node gets it; a placed node is not asked for again. A node with nested graphs may be
// claimed as a whole. Nested graphs of unclaimed nodes are partitioned afterwards, with the same providers. If, Loop
// and Scan that no provider claims stay in the graph and are run by the core.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"
#include "core/partition/partition.h"
#include "core/partition/partition_names.h"
#include "core/partition/placement.h"

namespace epiphyte::core {

// Properties of a unit that the provider stated besides its nodes.
struct UnitNote {
  bool exact = false;  // a partition of its own, neither merged nor split
  std::string name;
  uint64_t memory_bytes = 0;  // estimate; 0: unknown
};

// A provider's answer for one graph, already checked by core/abi: nodes exist, are unplaced, and appear once.
struct Capability {
  std::vector<std::vector<Node*>> units;  // single nodes and groups
  std::map<size_t, UnitNote> notes;       // key: index of the unit; few units have notes
  bool only_connected = false;            // never merge nodes that no value connects
  std::vector<std::pair<Node*, std::string>> declined;
  std::vector<std::string> warnings;
};

struct PartitionProvider {
  std::string name;
  std::string device;
  std::function<Capability(Graph& graph)> get_capability;
  // Fallback provider: asked after all others, and not about If, Loop and Scan, which the core runs itself.
  bool last_resort = false;
};

// Placement entries of a graph's nodes, kept for OfferAgain.
struct PartitionedGraph;

struct PartitionResult {
  std::vector<Partition> partitions;
  Placement placement;
  std::vector<std::shared_ptr<PartitionedGraph>> graphs;
};

// Partitions `graph`, which is changed and left finalized. The caller places EPContext nodes: claims on them are
// dropped, and those with a provider are reported as partitions. Constants that are used only within partitions are
// removed.
//
// An unclaimed node stays, with provider kUnplaced; the caller decides whether that is an error. Partitions get their
// names from `names`, and none that a node of the graph has. `on_progress` is called between the steps of each graph.
PartitionResult PartitionGraph(Graph& graph, std::span<PartitionProvider> providers, std::string_view name_prefix,
                               PartitionNames names = {}, const ProgressCallback& on_progress = {});

// A provider's note on a node of one of its partitions.
struct NodeNote {
  const Node* node = nullptr;  // node of Partition::graph
  std::string text;
};

// Puts the notes into the placement. Partitions must be as PartitionGraph or OfferAgain made them, not compiled yet.
void AddNotes(std::span<const NodeNote> notes, PartitionResult* result);

// Indices of the providers in the order of asking: fallback providers after the others.
std::vector<int32_t> AskingOrder(std::span<const PartitionProvider> providers);

// A partition that its provider could not compile.
struct DeclinedPartition {
  const Node* node = nullptr;  // Partition::node
  std::string reason;
};

// Takes partitions away from `provider` and offers their nodes to the providers asked after it, as PartitionGraph does.
// The partitions of these providers are formed anew, so that connected nodes end up in one; they must not be compiled
// yet. Changes the graphs that the partitions are in and leaves them finalized. Partition::node of all other partitions
// stays.
void OfferAgain(std::span<const DeclinedPartition> declined, int32_t provider, std::span<PartitionProvider> providers,
                std::string_view name_prefix, PartitionNames names, const ProgressCallback& on_progress,
                PartitionResult* result);

}  // namespace epiphyte::core
