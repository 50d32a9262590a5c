// Context model: an ONNX model whose partitions are EPContext nodes, and the payloads that belong to it. What ties them
// together is in its metadata, see context_metadata.h.
#pragma once

#include <string>
#include <vector>

#include "core/graph/context_node.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

// "loop/body/npu_0": the node's name after those of the nodes and attributes around it.
std::string NodePath(const Node& node);
// "EPContext node 'loop/body/npu_0' (source 'Npu', file 'm_npu.bin')": how messages name a node, whatever is wrong with
// its attributes.
std::string ContextNodeLabel(const Node& node);
// Throws INVALID_GRAPH on attributes of the wrong type.
ContextAttributes ReadContextAttributes(const Node& node);
// What is empty or 0 is left out.
std::vector<Attribute> WriteContextAttributes(const ContextAttributes& attributes);
std::vector<Node*> FindContextNodes(Graph& graph);  // nested graphs included

}  // namespace epiphyte::core
