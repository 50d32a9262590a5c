// DissolvePartition: puts the nodes of a partition back into the graph that they were taken out of.
#pragma once

#include <vector>

#include "core/partition/partition.h"

namespace epiphyte::core {

// The partition's node is gone afterwards, and its graph is of no further use. Returns the nodes, in the order of the
// partition's graph; the graph that they are in now isn't finalized.
std::vector<Node*> DissolvePartition(const Partition& partition);

}  // namespace epiphyte::core
