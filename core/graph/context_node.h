// EPContext nodes: what tells them from others.
#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace epiphyte::core {

inline constexpr std::string_view kContextOp = "EPContext";
inline constexpr std::string_view kContextDomain = "com.microsoft";

inline bool IsContextNode(const Node& node) { return node.Is(kContextOp, kContextDomain); }

}  // namespace epiphyte::core
