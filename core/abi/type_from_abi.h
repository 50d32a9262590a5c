// TypeFromAbi: a type that a plugin describes, checked.
#pragma once

#include "core/graph/type.h"
#include "epiphyte/ep_type.h"

namespace epiphyte::core {

// Unknown for kind UNKNOWN. Throws INVALID_ARGUMENT that says what no type can have: a kind, element type, rank,
// dimension or name, or a nested type that is missing or too deep.
TypePtr TypeFromAbi(const EpTypeInfo& type);

}  // namespace epiphyte::core
