// TypeFromAbi: converts a type that a plugin describes, after checking it.
#pragma once

#include "core/graph/type.h"
#include "epiphyte/ep_type.h"

namespace epiphyte::core {

// Returns an unknown type for kind UNKNOWN. Throws INVALID_ARGUMENT with the problem: an impossible kind, element type,
// rank, dimension or name, or a nested type that is missing or too deep.
TypePtr TypeFromAbi(const EpTypeInfo& type);

}  // namespace epiphyte::core
