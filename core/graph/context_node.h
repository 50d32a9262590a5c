// EPContext nodes: what tells them from others, and their attributes.
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

// Further string attributes, which are the plugin's own, in the node's order.
using ContextExtras = std::vector<std::pair<std::string, std::string>>;

// Whether the operator's schema has an attribute of that name.
inline bool IsContextAttribute(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {
      "main_context",          "ep_cache_context", "embed_mode", "ep_sdk_version", "onnx_model_filename",
      "hardware_architecture", "partition_name",   "source",     "notes",          "max_size"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

inline bool IsContextNode(const Node& node) { return node.Is(kContextOp, kContextDomain); }

// Such a node, or one with such a node in its nested graphs. They are loaded, not compiled, and may hold the data of
// others: what holds one stays with the core, and stays whole.
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
  std::shared_ptr<const MappedFile> file = nullptr;  // whose bytes these are; null: in the model, or of an application
};

// The attributes of an EPContext node, with the schema's defaults. The one struct for them: who makes, writes, reads,
// judges or loads such a node adds what is his.
struct ContextAttributes {
  int64_t main_context = 1;
  int64_t embed_mode = 1;
  std::string ep_cache_context;  // a path; for embed_mode 1 look at `embedded`
  ContextBlob embedded;          // embed_mode 1: the bytes, viewed in the model
  std::string source;
  std::string partition_name;  // as read: where the attribute is left out, the node's name
  std::string ep_sdk_version;
  std::string hardware_architecture;
  std::string notes;
  std::string onnx_model_filename;
  int64_t max_size = 0;
  ContextExtras extras;

  bool IsFile() const { return embed_mode == 0; }
  // The node carries a payload or names a file: it needs no other's.
  bool HasPayload() const { return IsFile() ? !ep_cache_context.empty() : main_context == 1; }
};

}  // namespace epiphyte::core
