// Paths that name nested graphs in reports, such as "if_1/then_branch". The path of the model's top-level graph is "".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace epiphyte::core {

// The path of graph `index` in `attribute` of `holder`, a node of the graph at `path`. `id` identifies a node without a
// name.
std::string BodyPath(std::string_view path, const Node& holder, uint32_t id, const Attribute& attribute, size_t index);
std::string PathOf(const Graph& graph);

}  // namespace epiphyte::core
