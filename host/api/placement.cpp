#include "epiphyte/placement.hpp"

#include <algorithm>

#include "host/api/access.h"

namespace epiphyte {

Placement Placement::Of(const Environment& environment, const std::filesystem::path& model,
                        const SessionOptions& options) {
  return WithPublicErrors([&] {
    return Placement(std::make_shared<const core::Placement>(
        core::PlaceModel(*Access::Of(environment), model, Access::Of(options))));
  });
}

std::vector<NodePlacement> Placement::nodes() const {
  std::vector<NodePlacement> nodes;
  nodes.reserve(placement_->nodes.size());
  for (const core::NodePlacement& node : placement_->nodes) {
    NodePlacement& copy = nodes.emplace_back();
    copy.graph = node.graph;
    copy.name = node.name;
    copy.op_type = node.op_type;
    copy.domain = node.domain;
    copy.provider = node.ProviderInReports();
    copy.device = node.device;
    copy.partition = node.partition;
    for (const core::Decline& decline : node.declines) copy.declines.push_back({decline.provider, decline.reason});
    copy.notes = node.notes;
  }
  return nodes;
}

std::vector<RemovedNode> Placement::removed() const {
  std::vector<RemovedNode> removed;
  removed.reserve(placement_->removed.size());
  for (const core::RemovedNode& node : placement_->removed) {
    removed.push_back({node.graph, node.name, node.op_type, node.domain,
                       std::string(core::RemovalReasonName(node.reason)), node.into, node.Describe()});
  }
  return removed;
}

std::vector<std::string> Placement::providers() const {
  std::vector<std::string> providers;
  for (const core::NodePlacement& node : placement_->nodes) {
    if (node.provider.empty()) continue;
    if (std::find(providers.begin(), providers.end(), node.provider) == providers.end()) {
      providers.push_back(node.provider);
    }
  }
  return providers;
}

std::vector<std::string> Placement::warnings() const { return placement_->warnings; }

std::string Placement::Summary() const {
  return WithPublicErrors([&] { return placement_->Summary(); });
}

std::string Placement::RemovedSummary() const {
  return WithPublicErrors([&] { return placement_->RemovedSummary(); });
}

std::string Placement::ToJson() const {
  return WithPublicErrors([&] { return placement_->ToJson(); });
}

std::string Placement::ToDot() const {
  return WithPublicErrors([&] { return placement_->ToDot(); });
}

}  // namespace epiphyte
