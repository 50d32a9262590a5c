// OwnConstants: constants of a loaded plan that steer its nodes get memory of their own.
//
// A context's payload is a mapped file, and another process may write to it. Floats and bytes stay mapped as long as
// the nodes that read them do nothing but compute with them; a node that takes places, counts, an order or decisions
// from them (TopK, NonZero, RoiAlign) reads each number more than once and relies on what it saw first. Constants of
// other types have been copied by the kit (container/graph.hpp).
#pragma once

#include "epiphyte/kit/container/graph.hpp"

namespace epiphyte::cpu {

// `stored` was read from `context` and need not be verified. Throws INVALID_GRAPH for a damaged section.
void OwnConstants(const kit::ContextContainer& context, kit::StoredGraph* stored);

}  // namespace epiphyte::cpu
