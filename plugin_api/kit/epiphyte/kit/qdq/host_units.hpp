// The QDQ units of the host's graph: what to answer GetCapability with.
//
//   void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override {
//     const qdq::HostUnits units = qdq::FindHostUnits(host(), graph.handle(), options_);
//     for (const qdq::Group& group : units.groups) claims.Together(group.nodes, group.name);
//     for (const qdq::Unit& unit : units.found.units) {
//       if (!unit.IsQdq()) claims.Decline(units.HandleOf(unit.target), units.found.reasons[unit.target]);
//     }
//   }
//
// Units that share a DequantizeLinear are one group, since no node can be claimed twice. Where a path leads from one of
// them through other units to the next, as around a residual branch, these are in the group, too. Where it leads through
// a node that is in no unit, they can't be a group, and those further down the path make no unit. A model in which each
// operator has its DequantizeLinear nodes for itself doesn't know this limit.
#pragma once

#include <string>
#include <vector>

#include "epiphyte/ep_host.h"
#include "epiphyte/kit/qdq/units.hpp"

namespace epiphyte::kit::qdq {

// To be claimed with EP_CLAIM_TOGETHER.
struct Group {
  std::vector<int32_t> units;        // one, or those that share and what is between them
  std::vector<const EpNode*> nodes;  // in an order in which they can run; null for what was not imported
  std::string name;                  // of the operators, for the placement report: "Conv+Add"
};

struct HostUnits {
  ir::Graph graph;  // constants are the host's, until GetCapability returns
  Units found;
  std::vector<Group> groups;

  const EpNode* HandleOf(int32_t node) const { return graph.nodes[static_cast<size_t>(node)].handle; }
};

// Nodes that another provider has are in no unit.
HostUnits FindHostUnits(const EpHostInfo& host, const EpGraph* graph, const Options& options = {});

// The same of a graph that is there already: finds its units and forms groups of those that are no single nodes.
std::vector<Group> FindGroups(const ir::Editor& editor, const Options& options, const Surroundings& surroundings,
                              Units* found);

}  // namespace epiphyte::kit::qdq
