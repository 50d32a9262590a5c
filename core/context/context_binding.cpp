#include "core/context/context_binding.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/registry/catalog.h"

namespace epiphyte::core {
namespace {

bool SamePayload(const ContextAttributes& a, const ContextAttributes& b) {
  if (a.IsFile() != b.IsFile()) return false;
  if (a.IsFile()) return a.ep_cache_context == b.ep_cache_context;
  return a.embedded.size == b.embedded.size &&
         (a.embedded.data == b.embedded.data || std::memcmp(a.embedded.data, b.embedded.data, a.embedded.size) == 0);
}

// Payload nodes of one provider. Embedded payloads are compared only if size and beginning are equal.
class Carriers {
 public:
  // First node with the same payload as `candidate`; `candidate` itself when it is the first.
  size_t Find(size_t candidate, const std::vector<BoundNode>& nodes) {
    const ContextAttributes& attributes = nodes[candidate].attributes;
    std::vector<size_t>& known =
        attributes.IsFile() ? files_[attributes.ep_cache_context] : embedded_[BeginningOf(attributes.embedded)];
    for (const size_t payload_node : known) {
      if (SamePayload(nodes[payload_node].attributes, attributes)) return payload_node;
    }
    known.push_back(candidate);
    return candidate;
  }

 private:
  static std::pair<uint64_t, std::string> BeginningOf(const ContextBlob& payload) {
    return {payload.size, Xxh128(payload.data, std::min<uint64_t>(payload.size, 4096))};
  }

  std::map<std::string, std::vector<size_t>> files_;
  std::map<std::pair<uint64_t, std::string>, std::vector<size_t>> embedded_;
};

}  // namespace

SourceOwner OwnersIn(const Catalog& catalog) {
  return [&catalog](const std::string& source) { return catalog.OwnerOfSource(source); };
}

ContextBinding::ContextBinding(std::span<Node* const> nodes, const SourceOwner& owner_of) {
  // Key of a family: a node finds its graph only in payloads of its own family.
  const auto family = [](const BoundNode& bound) {
    return std::pair(bound.owner, bound.owner.empty() ? bound.attributes.source : std::string());
  };
  using Family = std::pair<std::string, std::string>;
  std::map<Family, Carriers> payload_nodes;
  std::map<Family, std::set<size_t>> primaries;  // payload nodes of the family's primaries
  for (Node* node : nodes) {
    const size_t index = nodes_.size();
    BoundNode& bound = nodes_.emplace_back();
    bound.node = node;
    try {
      bound.attributes = ReadContextAttributes(*node);
    } catch (const Error& error) {
      bound.problem = error.message();
      continue;
    }
    bound.readable = true;
    bound.owner = owner_of(bound.attributes.source);
    if (!bound.attributes.HasPayload()) continue;
    bound.payload_node = payload_nodes[family(bound)].Find(index, nodes_);
    if (bound.attributes.main_context == 1) primaries[family(bound)].insert(bound.payload_node);
  }
  for (BoundNode& bound : nodes_) {
    if (!bound.readable || bound.attributes.main_context == 1) continue;
    const std::set<size_t>& candidates = primaries[family(bound)];
    if (candidates.empty()) {
      bound.problem = fmt::format(
          "EPContext node '{}' (source '{}') has main_context 0, but no node with main_context 1 and a source of the "
          "same provider is in the model; compile the model again",
          NodePath(*bound.node), bound.attributes.source);
      bound.payload_node = kNoPayloadNode;
    } else if (bound.payload_node == kNoPayloadNode && candidates.size() == 1) {
      bound.payload_node = *candidates.begin();
    }
  }
}

bool ContextBinding::HasNodesOf(std::string_view owner) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const BoundNode& bound) { return bound.owner == owner; });
}

}  // namespace epiphyte::core
