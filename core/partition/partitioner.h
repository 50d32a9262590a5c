// Partitioner: asks providers in order of priority what they can run, forms groups, and replaces each group by one
// node.
//
// First come, first served: a placed node is not asked for again. A node with nested graphs may be claimed as a whole;
// the nested graphs of those that nobody claimed are partitioned afterwards, with the same providers. If, Loop and Scan
// that no provider claims stay in the graph and are run by the core.
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

// What a provider said of a unit besides its nodes.
struct UnitNote {
  bool exact = false;  // one partition, neither merged nor split
  std::string name;
  uint64_t memory_bytes = 0;  // estimate; 0: not known
};

// What a provider answered for one graph, already checked by core/abi: nodes exist, are unplaced, and appear once.
struct Capability {
  std::vector<std::vector<Node*>> units;  // single nodes and groups
  std::map<size_t, UnitNote> notes;       // by unit; few have any
  bool only_connected = false;            // never merge what no value connects
  std::vector<std::pair<Node*, std::string>> declined;
  std::vector<std::string> warnings;
};

struct PartitionProvider {
  std::string name;
  std::string device;
  std::function<Capability(Graph& graph)> get_capability;
  // Asked only when all others have been, and not for If, Loop and Scan, which the core runs itself.
  bool last_resort = false;
};

// Which entry of the placement each node is, for OfferAgain.
struct PartitionedGraph;

struct PartitionResult {
  std::vector<Partition> partitions;
  Placement placement;
  std::vector<std::shared_ptr<PartitionedGraph>> graphs;
};

// Changes `graph` and leaves it finalized. EPContext nodes are placed by the caller: claims on them are dropped, and
// those that have a provider are reported as partitions. Constants that nothing needs outside of partitions are
// removed. A node that nobody claimed stays, with provider kUnplaced: whether that is an error is for the caller to
// say. Partitions are called by `names`, and like no node of the graph. `on_progress` beats between the
// steps of each graph.
PartitionResult PartitionGraph(Graph& graph, std::span<PartitionProvider> providers, std::string_view name_prefix,
                               PartitionNames names = {}, const ProgressCallback& on_progress = {});

// What a provider says of a node of one of its partitions.
struct NodeNote {
  const Node* node = nullptr;  // of Partition::graph
  std::string text;
};

// Puts the notes into the placement. Partitions are as PartitionGraph or OfferAgain made them: not compiled yet.
void AddNotes(std::span<const NodeNote> notes, PartitionResult* result);

// The order in which providers are asked: those that are a last resort after the others.
std::vector<int32_t> AskingOrder(std::span<const PartitionProvider> providers);

// A partition that its provider could not compile after all.
struct DeclinedPartition {
  const Node* node = nullptr;  // Partition::node
  std::string reason;
};

// Takes partitions away from `provider` and offers their nodes to those that are asked after it, as PartitionGraph
// does. The partitions that these had are formed anew, so that what belongs together becomes one; so they must not be
// compiled yet. Changes the graphs that the partitions are in and leaves them finalized; Partition::node of all others
// stays.
void OfferAgain(std::span<const DeclinedPartition> declined, int32_t provider, std::span<PartitionProvider> providers,
                std::string_view name_prefix, PartitionNames names, const ProgressCallback& on_progress,
                PartitionResult* result);

}  // namespace epiphyte::core
