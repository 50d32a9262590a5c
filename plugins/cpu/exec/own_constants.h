// OwnConstants: gives constants that control a loaded plan's nodes their own memory.
//
// A context's payload is a mapped file, and another process may write to it. Float and byte constants stay mapped as
// long as all nodes that read them only compute with them. A node that derives positions, counts, an order or decisions
// from a constant (TopK, NonZero, RoiAlign) reads each number more than once and relies on equal reads; such a constant
// is copied. The kit has already copied constants of other types (container/graph.hpp).
#pragma once

#include "epiphyte/kit/container/graph.hpp"

namespace epiphyte::cpu {

// `stored` was read from `context`; it may still be unverified. Throws INVALID_GRAPH for a damaged section.
void OwnConstants(const kit::ContextContainer& context, kit::StoredGraph* stored);

}  // namespace epiphyte::cpu
