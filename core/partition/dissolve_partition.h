// DissolvePartition: puts the nodes of a partition back into the graph that they came from.
#pragma once

#include <vector>

#include "core/partition/partition.h"

namespace epiphyte::core {

// Removes the partition's node; the partition's graph is of no further use. Returns the nodes, in the order of the
// partition's graph. The graph that they are in now isn't finalized.
std::vector<Node*> DissolvePartition(const Partition& partition);

}  // namespace epiphyte::core
