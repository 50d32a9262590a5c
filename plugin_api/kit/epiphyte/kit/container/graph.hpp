// Graphs in a context container: the compiled graph of a partition with its constants, attributes and packed data.
//
//   kit::AddGraph(builder, graph, packed);                                   // as the section "graph/<its name>"
//   …
//   kit::StoredGraph stored = kit::ReadGraph(container, partition_name);     // has passed ir::Check
//
// A graph's section describes the graph in the order in which it is read. The bytes of constants, of tensors in
// attributes, and of packed data are sections of their own. Equal constants of several graphs are stored once.
//
// Constants of floats and bytes are used in place and can change with the file. Data that can steer a node is copied:
// constants of other types, and attributes. If a plugin's nodes take offsets, counts or decisions from floats or bytes,
// it must call OwnConstant for them.
//
// Nodes with bodies (If, Loop, Scan) can't be stored, because ir::Import leaves the bodies out.
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

// Data that the plugin made from a node's constants, in a format of its own. Each key of a node occurs once.
struct PackedData {
  int32_t node = 0;  // index into Graph::nodes
  std::string key;
  std::string format;
  const void* data = nullptr;
  uint64_t bytes = 0;
  std::shared_ptr<void> owner;  // keeps `data` alive; null when the data is part of the container's bytes
};

// A graph from a container. Constants have Storage kOwned or kDropped; there are no handles.
struct StoredGraph {
  static constexpr uint32_t kNoSection = UINT32_MAX;
  ir::Graph graph;
  std::vector<PackedData> packed;
  // Container section of each constant; kNoSection for strings and dropped constants.
  std::vector<uint32_t> constant_sections;
};

// Adds a graph. The bytes of constants and packed data must stay valid until the builder's last Write. Throws
// INVALID_ARGUMENT when the builder has a graph of that name, and for a node with a body.
void AddGraph(ContextContainerBuilder& builder, const ir::Graph& graph, std::span<const PackedData> packed = {});

// Names of the graphs in a container, in ascending order.
std::vector<std::string_view> GraphNames(const ContextContainer& container);
bool HasGraph(const ContextContainer& container, std::string_view name);
// Finds the graph of a context node. `name` is EpContextNodeInfo::partition_name; an empty name stands for the
// container's only graph. Nothing when there is no such graph.
std::optional<std::string_view> FindGraph(const ContextContainer& container, std::string_view name);

// When the content of a graph is checked. Its encoding is always checked.
enum class GraphCheck {
  kNow,    // at once: ir::Check, and each packed data belongs to a node and occurs once
  kLater,  // the caller checks an index or a size of the graph before it uses it
};

// Reads the graph that FindGraph finds. Throws INVALID_GRAPH when there is no such graph or it can't be read. Does not
// compare the digests of large sections; see ContainerDigests.
StoredGraph ReadGraph(const ContextContainer& container, std::string_view name, GraphCheck check = GraphCheck::kNow);

// Copies a constant of a graph from `container` to memory of its own; see ContextContainer::Own.
void OwnConstant(const ContextContainer& container, size_t constant, StoredGraph* stored);

}  // namespace epiphyte::kit
