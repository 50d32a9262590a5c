// Context model: an ONNX model whose partitions are EPContext nodes, and the payloads that belong to it. What ties them
// together is in its metadata, see context_metadata.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/graph/context_node.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

// An EPContext node with its attributes, the schema's defaults filled in (main_context 1, embed_mode 1, max_size 0).
struct EpContextAttributes {
  int64_t main_context = 1;
  int64_t embed_mode = 1;
  std::string ep_cache_context;  // a path; for embed_mode 1 look at payload
  ContextBlob payload;           // embed_mode 1: the bytes, viewed in the model
  std::string source;
  std::string partition_name;  // where the attribute is left out: the node's name
  std::string ep_sdk_version;
  std::string hardware_architecture;
  std::string notes;
  std::string onnx_model_filename;
  int64_t max_size = 0;
};

// "loop/body/npu_0": the node's name after those of the nodes and attributes around it.
std::string NodePath(const Node& node);
// "EPContext node 'loop/body/npu_0' (source 'Npu', file 'm_npu.bin')": how messages name a node, whatever is wrong with
// its attributes.
std::string ContextNodeLabel(const Node& node);
// Throws INVALID_GRAPH on attributes of the wrong type.
EpContextAttributes ReadContextAttributes(const Node& node);
std::vector<Node*> FindContextNodes(Graph& graph);  // nested graphs included

}  // namespace epiphyte::core
