// Context model: an ONNX model with EPContext nodes in place of its partitions, and the payloads that belong to it. Its
// metadata ties them together, see context_metadata.h.
#pragma once

#include <string>
#include <vector>

#include "core/graph/context_node.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

// Path of a node, such as "loop/body/npu_0": its name after the names of the enclosing nodes and attributes.
std::string NodePath(const Node& node);
// Name of a node for messages, whatever is wrong with its attributes: "EPContext node 'loop/body/npu_0' (source 'Npu',
// file 'm_npu.bin')".
std::string ContextNodeLabel(const Node& node);
// Throws INVALID_GRAPH for attributes of the wrong type.
ContextAttributes ReadContextAttributes(const Node& node);
// Attributes that are empty or 0 are left out.
std::vector<Attribute> WriteContextAttributes(const ContextAttributes& attributes);
std::vector<Node*> FindContextNodes(Graph& graph);  // nested graphs included
bool HasContextNodes(const Graph& graph);           // nested graphs included

}  // namespace epiphyte::core
