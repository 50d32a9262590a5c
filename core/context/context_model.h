// Context model: an ONNX model whose partitions are EPContext nodes, and the payloads that belong to it.
//
// What ties model and payloads together is metadata of the model:
//   ep_compatibility_info.<provider>   the provider's own string, as in ONNX Runtime
//   epiphyte.context.version           "2"
//   epiphyte.context.payload.<n>       "<size> <xxh128> <provider> <plugin version> <file name, or - when embedded>"
//   epiphyte.context.initializers      "<size> <xxh128> <file name>", when plain nodes have their weights in a file
//   epiphyte.context.plain             "cpu": the providers that had the plain nodes, separated by commas
//   epiphyte.context.seal              a digest over the model itself, see seal.h
// A model without this metadata (another tool's) is accepted as it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// Fingerprint of one payload, as it stands in the metadata.
struct PayloadRecord {
  uint64_t size = 0;
  std::string xxh128;
  std::string file;  // relative; "" when embedded
  std::string provider;
  std::string plugin_version;
};
std::vector<PayloadRecord> ReadPayloadRecords(const std::map<std::string, std::string>& metadata);
void WritePayloadRecords(const std::vector<PayloadRecord>& records, std::map<std::string, std::string>* metadata);

// Fingerprint of the file that holds the initializers of plain nodes.
inline constexpr std::string_view kInitializersKey = "epiphyte.context.initializers";
struct InitializersRecord {
  uint64_t size = 0;
  std::string xxh128;
  std::string file;

  std::string ToText() const;
  // Nothing when the model has none. Throws INVALID_GRAPH when it isn't one.
  static std::optional<InitializersRecord> Read(const std::map<std::string, std::string>& metadata);
};

// The providers that got the plain nodes of a context model when it was compiled: who loads it keeps to them. Nothing
// when the model doesn't say.
std::optional<std::vector<std::string>> ReadPlainProviders(const std::map<std::string, std::string>& metadata);
void WritePlainProviders(const std::vector<std::string>& providers, std::map<std::string, std::string>* metadata);

}  // namespace epiphyte::core
