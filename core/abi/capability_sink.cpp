// The capability table: claims are checked here, one by one, before the partitioner sees them.
#include <bit>

#include "core/abi/handles.h"
#include "core/partition/convex_groups.h"

using epiphyte::core::Node;
using epiphyte::core::StatusCode;

namespace {

// Limit of warnings about one answer; more of them help no user.
constexpr uint64_t kMaxWarnings = 16;

}  // namespace

EpCapabilitySink::EpCapabilitySink(epiphyte::core::Graph& graph) : graph(graph) {
  uint32_t largest_id = 0;
  addresses_.assign(std::bit_ceil(graph.node_count() * 2 + 1), nullptr);
  size_t mask = addresses_.size() - 1;
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    largest_id = std::max(largest_id, node->id());
    size_t slot = (reinterpret_cast<uintptr_t>(node.get()) >> 4) * 0x9E3779B97F4A7C15ull >> 20 & mask;
    while (addresses_[slot] != nullptr) slot = (slot + 1) & mask;
    addresses_[slot] = node.get();
  }
  claimed_.assign(largest_id + 1, false);
}

Node* EpCapabilitySink::Find(const EpNode* node) const {
  size_t mask = addresses_.size() - 1;
  size_t slot = (reinterpret_cast<uintptr_t>(node) >> 4) * 0x9E3779B97F4A7C15ull >> 20 & mask;
  for (; addresses_[slot] != nullptr; slot = (slot + 1) & mask) {
    if (addresses_[slot] == node) return const_cast<Node*>(static_cast<const Node*>(addresses_[slot]));
  }
  return nullptr;
}

void EpCapabilitySink::Warn(std::string text) {
  if (++dropped_ < kMaxWarnings) {
    capability.warnings.push_back(std::move(text));
  } else if (dropped_ == kMaxWarnings) {
    capability.warnings.push_back("further claims were dropped");
  }
}

void EpCapabilitySink::Add(const EpClaim& claim) {
  if (claim.node_count == 0) return;
  if (claim.nodes == nullptr || claim.node_count > graph.node_count()) {
    Warn(fmt::format("a claim of {} nodes on a graph of {}", claim.nodes == nullptr ? 0 : claim.node_count,
                     graph.node_count()));
    epiphyte::core::Fail(StatusCode::kInvalidArgument, "more nodes were claimed than the graph has, or a null array");
  }
  const bool as_group = (claim.flags & (EP_CLAIM_TOGETHER | EP_CLAIM_EXACT)) != 0;
  const std::string name = epiphyte::core::CleanText(claim.name, 128);
  std::vector<Node*> unit;
  uint64_t first_dropped = dropped_;
  for (uint64_t i = 0; i < claim.node_count; ++i) {
    Node* node = Find(claim.nodes[i]);
    if (node == nullptr) {
      Warn("a claim on a node that is not of this graph was dropped");
    } else if (node->provider != epiphyte::core::kUnplaced) {
      Warn(fmt::format("a claim on node '{}', which another provider has, was dropped", node->name()));
    } else if (claimed_[node->id()]) {
      Warn(fmt::format("node '{}' ({}) was claimed twice", node->name(), node->op_type()));
    } else {
      unit.push_back(node);
      claimed_[node->id()] = true;
    }
  }
  const size_t first = capability.units.size();
  if (as_group) {
    std::string_view reason = dropped_ != first_dropped ? "one of its nodes can't be claimed"
                              : epiphyte::core::IsConvex(graph, unit)
                                  ? ""
                                  : "a path leaves it and comes back (it is not convex)";
    if (!reason.empty()) {
      Warn(fmt::format("group '{}' of {} nodes was dropped: {}", name, claim.node_count, reason));
      for (Node* node : unit) claimed_[node->id()] = false;
      return;
    }
    capability.units.push_back(std::move(unit));
  } else {
    for (Node* node : unit) capability.units.push_back({node});
  }
  const bool exact = (claim.flags & EP_CLAIM_EXACT) != 0;
  if (first == capability.units.size() || (!exact && name.empty() && claim.memory_bytes == 0)) return;
  // A claim on several single nodes has one note; it goes to the first node.
  capability.notes[first] = {exact, name, claim.memory_bytes};
}

void EpCapabilitySink::Decline(const EpNode* handle, const char* reason) {
  Node* node = Find(handle);
  if (node == nullptr) {
    Warn("a decline of a node that is not of this graph was dropped");
    return;
  }
  capability.declined.emplace_back(node, epiphyte::core::CleanText(reason, 512));
}

namespace epiphyte::core {
namespace {

// Runs `action` on the sink behind a handle.
template <typename Action>
EpStatus* OnOpenSink(const EpCapabilitySink* handle, Action action) {
  return Guard([&] {
    EpCapabilitySink* sink = CallScopedHandle<EpCapabilitySink>::Find(handle);
    if (sink == nullptr) {
      Fail(StatusCode::kInvalidArgument,
           "a capability sink was used outside of the GetCapability call that it was given to, or on another thread");
    }
    action(*sink);
  });
}

EpStatus* EP_CALL SupportNodes(EpCapabilitySink* handle, const EpNode* const* nodes, uint64_t count) {
  return OnOpenSink(handle, [&](EpCapabilitySink& sink) {
    EpClaim claim = {};
    claim.struct_size = sizeof claim;
    claim.nodes = nodes;
    claim.node_count = count;
    sink.Add(claim);
  });
}

EpStatus* EP_CALL Claim(EpCapabilitySink* handle, const EpClaim* claim) {
  return OnOpenSink(handle, [&](EpCapabilitySink& sink) {
    if (claim == nullptr) Fail(StatusCode::kInvalidArgument, "a null claim was made");
    RequireAbi(*claim);
    sink.Add(*claim);
  });
}

EpStatus* EP_CALL SetGrouping(EpCapabilitySink* handle, uint32_t flags) {
  return OnOpenSink(
      handle, [&](EpCapabilitySink& sink) { sink.capability.only_connected = (flags & EP_GROUPING_CONNECTED) != 0; });
}

EpStatus* EP_CALL DeclineNode(EpCapabilitySink* handle, const EpNode* node, const char* reason) {
  return OnOpenSink(handle, [&](EpCapabilitySink& sink) { sink.Decline(node, reason); });
}

}  // namespace

const EpCapabilityApi kCapabilityApi = {sizeof(EpCapabilityApi), 0, SupportNodes, Claim, SetGrouping, DeclineNode};

}  // namespace epiphyte::core
