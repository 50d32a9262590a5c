#include "host/conformance/debug_host/debug_capability.h"

#include <algorithm>

#include "host/conformance/debug_host/debug_host.h"

namespace epiphyte::conformance {
namespace {

DebugSink* Require(EpCapabilitySink* sink, const char* function) {
  return Live<EpCapabilitySink, DebugSink>().Require(sink, function, Rule::kSinkEndsWithTheCall,
                                                     Rule::kSinkStaysOnItsThread);
}

EpStatus* NoSink() {
  return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT, "the capability sink is of no use here");
}

EpStatus* EP_CALL SupportNodes(EpCapabilitySink* sink, const EpNode* const* nodes, uint64_t count) {
  DebugSink* mine = Require(sink, "SupportNodes");
  return mine == nullptr ? NoSink() : mine->Add(nodes, count, nullptr, 0);
}

EpStatus* EP_CALL Claim(EpCapabilitySink* sink, const EpClaim* claim) {
  DebugSink* mine = Require(sink, "Claim");
  if (mine == nullptr) return NoSink();
  DebugHost& host = DebugHost::Current();
  if (claim == nullptr || claim->struct_size < sizeof(EpClaim)) {
    return host.Refuse(Rule::kInfosHaveASize, "Claim: a claim whose struct_size covers it is expected");
  }
  return mine->Add(claim->nodes, claim->node_count, claim->name, claim->flags);
}

EpStatus* EP_CALL SetGrouping(EpCapabilitySink* sink, uint32_t) {
  return Require(sink, "SetGrouping") == nullptr ? NoSink() : nullptr;
}

EpStatus* EP_CALL DeclineNode(EpCapabilitySink* sink, const EpNode* node, const char* reason) {
  DebugSink* mine = Require(sink, "DeclineNode");
  return mine == nullptr ? NoSink() : mine->Decline(node, reason);
}

}  // namespace

const EpCapabilityApi kDebugCapabilityApi = {sizeof(EpCapabilityApi), 0, SupportNodes, Claim, SetGrouping, DeclineNode};

DebugSink::DebugSink(const DebugGraph& graph)
    : graph_(graph), handle_(Live<EpCapabilitySink, DebugSink>().Open(this)), claimed_(graph.spec().nodes.size()) {}

DebugSink::~DebugSink() { Live<EpCapabilitySink, DebugSink>().Close(handle_); }

EpStatus* DebugSink::Add(const EpNode* const* nodes, uint64_t count, const char* name, uint32_t flags) {
  DebugHost& host = DebugHost::Current();
  if (count > claimed_.size()) {
    return host.Refuse(Rule::kClaimsHaveACount, "a claim of " + std::to_string(count) + " nodes, the graph has " +
                                                    std::to_string(claimed_.size()));
  }
  if (count == 0) return nullptr;
  if (nodes == nullptr) return host.Refuse(Rule::kClaimsNodesOfTheGraph, "a claim of null");
  if (name != nullptr && !IsUtf8(name)) return host.Refuse(Rule::kReasonsAreText, "the name of a claim is not UTF-8");
  std::vector<size_t> members;
  for (uint64_t i = 0; i < count; ++i) {
    const int index = graph_.IndexOf(nodes[i]);
    if (index < 0) return host.Refuse(Rule::kClaimsNodesOfTheGraph, "a claim of a node that is not of this graph");
    const auto node = static_cast<size_t>(index);
    const std::string& op = graph_.spec().nodes[node].op_type;
    if (graph_.spec().nodes[node].placed)
      return host.Refuse(Rule::kLeavesPlacedNodes, "node " + op + " is placed already");
    if (claimed_[node]) return host.Refuse(Rule::kClaimsOnce, "node " + op + " is claimed twice");
    claimed_[node] = true;
    members.push_back(node);
    ++claims_.nodes;
  }
  if ((flags & EP_CLAIM_EXACT) != 0) claims_.exact = true;
  std::sort(members.begin(), members.end());
  if ((flags & (EP_CLAIM_TOGETHER | EP_CLAIM_EXACT)) == 0) {
    for (const size_t member : members) claims_.units.push_back({member});
    return nullptr;
  }
  if (graph_.spec().LeavesAndComesBack(members)) {
    return host.Refuse(Rule::kGroupsAreConvex, "a path leaves the claimed group and comes back");
  }
  claims_.units.push_back(std::move(members));
  return nullptr;
}

EpStatus* DebugSink::Decline(const EpNode* node, const char* reason) {
  DebugHost& host = DebugHost::Current();
  if (graph_.IndexOf(node) < 0)
    return host.Refuse(Rule::kClaimsNodesOfTheGraph, "a node was declined that is not of this graph");
  if (reason != nullptr && !IsUtf8(reason))
    return host.Refuse(Rule::kReasonsAreText, "the reason of DeclineNode is not UTF-8");
  return nullptr;
}

}  // namespace epiphyte::conformance
