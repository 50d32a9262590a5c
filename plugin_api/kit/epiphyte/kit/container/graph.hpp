// Graphs in a context container: what a compiler made of a partition, with constants, attributes and packed data.
//
//   kit::AddGraph(builder, graph, packed);                                   // as the section "graph/<its name>"
//   …
//   kit::StoredGraph stored = kit::ReadGraph(container, partition_name);     // has passed ir::Check
//
// A graph's section is its description, in the order in which it is read; the bytes of constants, attributes' tensors
// and packed data are sections of their own. Equal constants of several graphs are there once. Those of floats and
// bytes are used where they lie and may change with the file; what may steer a node is copied: constants of other
// types, and attributes. A plugin whose nodes take places, counts or decisions from floats or bytes takes OwnConstant
// for these. Nodes with bodies (If, Loop, Scan) can't be stored: ir::Import leaves the bodies out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/container/container.hpp"
#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit {

// Data that the plugin made of a node's constants, in a format of its own. A node's keys differ.
struct PackedData {
  int32_t node = 0;  // index into Graph::nodes
  std::string key;
  std::string format;
  const void* data = nullptr;
  uint64_t bytes = 0;
  std::shared_ptr<void> owner;  // of the bytes, unless they lie where the container's do
};

// Constants have Storage kOwned, or kDropped; no handles.
struct StoredGraph {
  static constexpr uint32_t kNoSection = UINT32_MAX;
  ir::Graph graph;
  std::vector<PackedData> packed;
  std::vector<uint32_t> constant_sections;  // of the container, by constant; kNoSection: strings, and what was dropped
};

// The bytes of constants and packed data stay valid until the builder's last Write. Throws INVALID_ARGUMENT when the
// builder has a graph of that name, and for a node with a body.
void AddGraph(ContextContainerBuilder& builder, const ir::Graph& graph, std::span<const PackedData> packed = {});

// Names of the graphs in a container, in ascending order.
std::vector<std::string_view> GraphNames(const ContextContainer& container);
bool HasGraph(const ContextContainer& container, std::string_view name);
// The name of the graph that a context node stands for. `name` is the node's, EpContextNodeInfo::partition_name; an
// empty one stands for the container's only graph. None when there is no such graph.
std::optional<std::string_view> FindGraph(const ContextContainer& container, std::string_view name);

// Whose task it is to look at what a graph says, not only at how it is written.
enum class GraphCheck {
  kNow,    // ir::Check, and packed data belongs to a node and is there once
  kLater,  // the caller's, before it uses an index or a size of the graph
};

// Reads the graph that FindGraph finds. Throws INVALID_GRAPH when there is none of that name, or when it can't be read.
// The bytes of large sections are believed: see ContainerDigests.
StoredGraph ReadGraph(const ContextContainer& container, std::string_view name, GraphCheck check = GraphCheck::kNow);

// Gives a constant of a graph that was read from the container memory of its own; see ContextContainer::Own.
void OwnConstant(const ContextContainer& container, size_t constant, StoredGraph* stored);

}  // namespace epiphyte::kit
