// Claims: which nodes of a graph a provider can run, and why not the others.
//
//   void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override {
//     for (const kit::NodeView& node : graph.nodes()) {
//       if (node.placed()) continue;
//       if (!node.Is("Conv")) {
//         claims.Decline(node, "only Conv");
//       } else {
//         claims.Support(node);                                // alone, or fused with neighbours: the host's choice
//       }
//     }
//     claims.Together(unit.nodes, "Conv with its QDQ nodes");  // never split, but merged with what else is claimed
//     claims.Exactly(unit.nodes, "conv+bias+relu");            // these and no others are one partition
//   }
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "epiphyte/kit/abi/graph_view.hpp"

namespace epiphyte::kit {

// The claims of one GetCapability.
class Claims {
 public:
  Claims(const EpHostInfo& host, EpCapabilitySink* sink) : host_(host), sink_(sink) {}
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // Claims single nodes, which the host may group. A node with a `name` gets a claim of its own; the name is for the
  // placement report.
  void Support(const EpNode* node) { supported_.push_back(node); }
  void Support(const NodeView& node) { Support(node.handle()); }
  void Support(const NodeView& node, const std::string& name, uint64_t memory_bytes = 0);
  // Claims a group of nodes. `memory_bytes` is an estimate of the device memory that the group takes, for the report.
  void Together(std::span<const EpNode* const> nodes, const std::string& name = {}, uint64_t memory_bytes = 0);
  void Exactly(std::span<const EpNode* const> nodes, const std::string& name = {}, uint64_t memory_bytes = 0);
  // `reason` is shown in the placement report.
  void Decline(const EpNode* node, const std::string& reason);
  void Decline(const NodeView& node, const std::string& reason) { Decline(node.handle(), reason); }
  // Forbids partitions of nodes that no value connects.
  void KeepConnected();

  // Passes the collected claims to the host. The trampolines call it at the end.
  void Flush();

 private:
  void Claim(std::span<const EpNode* const> nodes, uint32_t flags, const std::string& name, uint64_t memory_bytes);

  const EpHostInfo& host_;
  EpCapabilitySink* sink_;
  std::vector<const EpNode*> supported_;
};

}  // namespace epiphyte::kit
