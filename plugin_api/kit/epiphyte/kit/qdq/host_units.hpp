// FindHostUnits: the QDQ units of the host's graph, to answer GetCapability with.
//
//   void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override {
//     const qdq::HostUnits units = qdq::FindHostUnits(host(), graph.handle(), options_);
//     for (const qdq::Group& group : units.groups) claims.Together(group.nodes, group.name);
//     for (const qdq::Unit& unit : units.found.units) {
//       if (!unit.IsQdq()) claims.Decline(units.HandleOf(unit.target), units.found.reasons[unit.target]);
//     }
//   }
//
// Units that share a DequantizeLinear form one group, since a node can be claimed only once. If a path leads from one
// unit of a group through other units to another unit of the group, as around a residual branch, the units on the path
// join the group. If a path leads through a node outside all units, no group is possible, and the units further down
// the path are dropped. This limit does not affect models in which each operator has its own DequantizeLinear nodes.
#pragma once

#include <string>
#include <vector>

#include "epiphyte/ep_host.h"
#include "epiphyte/kit/qdq/units.hpp"

namespace epiphyte::kit::qdq {

// A group of nodes to claim with EP_CLAIM_TOGETHER.
struct Group {
  std::vector<int32_t> units;        // one unit, or units that share nodes together with the units between them
  std::vector<const EpNode*> nodes;  // in execution order; null for nodes that were not imported
  std::string name;                  // the operators, for the placement report: "Conv+Add"
};

struct HostUnits {
  ir::Graph graph;  // constants belong to the host and are valid until GetCapability returns
  Units found;
  std::vector<Group> groups;

  const EpNode* HandleOf(int32_t node) const { return graph.nodes[static_cast<size_t>(node)].handle; }
};

// Finds units and groups. Nodes that another provider has claimed are in no unit.
HostUnits FindHostUnits(const EpHostInfo& host, const EpGraph* graph, const Options& options = {});

// Finds the units of an existing graph, and forms groups of all units that are not single nodes.
std::vector<Group> FindGroups(const ir::Editor& editor, const Options& options, const Surroundings& surroundings,
                              Units* found);

}  // namespace epiphyte::kit::qdq
