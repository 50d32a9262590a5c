// The paths by which reports name nested graphs: "if_1/then_branch", below a node of the model's own graph, whose path
// is
// "".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace epiphyte::core {

// Of graph `index` in `attribute` of `holder`, a node of the graph at `path`. A node without a name is told by `id`.
std::string BodyPath(std::string_view path, const Node& holder, uint32_t id, const Attribute& attribute, size_t index);
std::string PathOf(const Graph& graph);

}  // namespace epiphyte::core
