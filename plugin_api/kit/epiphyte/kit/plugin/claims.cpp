#include "epiphyte/kit/plugin/claims.hpp"

namespace epiphyte::kit {

void Claims::Claim(std::span<const EpNode* const> nodes, uint32_t flags, const std::string& name,
                   uint64_t memory_bytes) {
  EpClaim claim = {};
  claim.struct_size = sizeof(claim);
  claim.flags = flags;
  claim.nodes = nodes.data();
  claim.node_count = nodes.size();
  claim.name = name.empty() ? nullptr : name.c_str();
  claim.memory_bytes = memory_bytes;
  ThrowIfFailed(host_, host_.capability->Claim(sink_, &claim));
}

void Claims::Support(const NodeView& node, const std::string& name, uint64_t memory_bytes) {
  const EpNode* const handle = node.handle();
  Claim({&handle, 1}, 0, name, memory_bytes);
}

void Claims::Together(std::span<const EpNode* const> nodes, const std::string& name, uint64_t memory_bytes) {
  Claim(nodes, EP_CLAIM_TOGETHER, name, memory_bytes);
}

void Claims::Exactly(std::span<const EpNode* const> nodes, const std::string& name, uint64_t memory_bytes) {
  Claim(nodes, EP_CLAIM_EXACT, name, memory_bytes);
}

void Claims::Decline(const EpNode* node, const std::string& reason) {
  ThrowIfFailed(host_, host_.capability->DeclineNode(sink_, node, reason.empty() ? "not supported" : reason.c_str()));
}

void Claims::KeepConnected() { ThrowIfFailed(host_, host_.capability->SetGrouping(sink_, EP_GROUPING_CONNECTED)); }

void Claims::Flush() {
  if (supported_.empty()) return;
  ThrowIfFailed(host_, host_.capability->SupportNodes(sink_, supported_.data(), supported_.size()));
  supported_.clear();
}

}  // namespace epiphyte::kit
