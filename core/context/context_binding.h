// ContextBinding: which payload each EPContext node of a model finds its graph in. Sessions, verify, the verdicts and
// merge all use this one rule:
//
// - A node that carries a payload, or names a file, has that payload.
// - A secondary (main_context 0) that names no payload has the payload of its provider's primaries. If they have
//   several, its graph is in one of them, and only the provider can tell which.
// - A secondary without any primary of its provider in the model is an error.
//
// The provider is the plugin that owns the source: a plugin's sources are its own names for one family of formats. A
// source without an owner is a family of its own.
//
//   const ContextBinding binding(FindContextNodes(*model.graph), OwnersIn(catalog));
//   for (const BoundNode& bound : binding.nodes()) {
//     if (!bound.problem.empty()) …
//     if (bound.payload_node != kNoPayloadNode) Open(binding.nodes()[bound.payload_node]);
//   }
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/context/context_model.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

class Catalog;

// Returns the name of the provider that owns a source; "" when none does.
using SourceOwner = std::function<std::string(const std::string& source)>;
SourceOwner OwnersIn(const Catalog& catalog);

inline constexpr size_t kNoPayloadNode = static_cast<size_t>(-1);

struct BoundNode {
  Node* node = nullptr;
  bool readable = false;  // false: the attributes are malformed, and `attributes` and `owner` are not set
  ContextAttributes attributes;
  std::string owner;  // the provider; "" when no plugin owns the source
  // Index into nodes() of the node that carries or names the payload. It is the node itself, the first node with the
  // same payload, or a secondary's primary. kNoPayloadNode when there is a problem or several payloads fit.
  size_t payload_node = kNoPayloadNode;
  std::string problem;  // INVALID_GRAPH, one line; empty when there is none
};

class ContextBinding {
 public:
  ContextBinding() = default;  // no nodes
  ContextBinding(std::span<Node* const> nodes, const SourceOwner& owner_of);

  // One entry for each of the given nodes, in their order.
  const std::vector<BoundNode>& nodes() const { return nodes_; }
  bool empty() const { return nodes_.empty(); }
  // Whether a node belongs to this provider.
  bool HasNodesOf(std::string_view owner) const;

 private:
  std::vector<BoundNode> nodes_;
};

}  // namespace epiphyte::core
