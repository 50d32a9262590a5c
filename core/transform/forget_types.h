// ForgetTypes: before types are inferred anew, what was inferred from nodes that have changed must not be believed any
// more: merging would keep a size that was true of the old node.
#pragma once

#include <unordered_set>

#include "core/graph/graph.h"

namespace epiphyte::core {

// Forgets the types of what `changed` nodes make and of all that depends on it, in nested graphs too, as far as
// inference can find them again: types of operators that nobody describes stay, and so do those of the model's outputs,
// which are the model's word. A changed node that isn't in the graph any more is ignored.
void ForgetTypes(Graph& graph, const std::unordered_set<const Node*>& changed);

}  // namespace epiphyte::core
