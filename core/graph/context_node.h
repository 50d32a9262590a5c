// EPContext nodes: how they are recognized, and their attributes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

inline constexpr std::string_view kContextOp = "EPContext";
inline constexpr std::string_view kContextDomain = "com.microsoft";

// Additional string attributes that the plugin defines, in the node's order.
using ContextExtras = std::vector<std::pair<std::string, std::string>>;

// Whether the schema of EPContext has an attribute with this name.
inline bool IsContextAttribute(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {
      "main_context",          "ep_cache_context", "embed_mode", "ep_sdk_version", "onnx_model_filename",
      "hardware_architecture", "partition_name",   "source",     "notes",          "max_size"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

inline bool IsContextNode(const Node& node) { return node.Is(kContextOp, kContextDomain); }

// True for an EPContext node, and for a node with an EPContext node in its nested graphs. EPContext nodes are loaded,
// not compiled, and may hold the payload of other nodes. A node that contains one therefore stays with the core, and
// stays whole.
inline bool HoldsContextNode(const Node& node) {
  if (IsContextNode(node)) return true;
  for (const Graph* body : node.subgraphs()) {
    for (const std::unique_ptr<Node>& inner : body->nodes()) {
      if (inner != nullptr && HoldsContextNode(*inner)) return true;
    }
  }
  return false;
}

// The bytes of a payload.
struct ContextBlob {
  const void* data = nullptr;
  uint64_t size = 0;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const MappedFile> file =
      nullptr;  // file of these bytes; null: the model's or the application's memory
};

// The attributes of an EPContext node, with the schema's defaults. All code that makes, writes, reads, checks or loads
// such nodes uses this struct and adds its own fields.
struct ContextAttributes {
  int64_t main_context = 1;
  int64_t embed_mode = 1;
  std::string ep_cache_context;  // a path; for embed_mode 1 look at `embedded`
  ContextBlob embedded;          // embed_mode 1: the bytes, viewed in the model
  std::string source;
  std::string partition_name;  // when read: the node's name if the attribute is absent
  std::string ep_sdk_version;
  std::string hardware_architecture;
  std::string notes;
  std::string onnx_model_filename;
  int64_t max_size = 0;
  ContextExtras extras;

  bool IsFile() const { return embed_mode == 0; }
  // The node carries a payload or names its binary, so it doesn't depend on the payload of another node.
  bool HasPayload() const { return IsFile() ? !ep_cache_context.empty() : main_context == 1; }
};

}  // namespace epiphyte::core
