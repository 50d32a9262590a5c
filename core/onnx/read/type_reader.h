// Reads TypeProto and ValueInfoProto messages into types.
#pragma once

#include <string_view>

#include "core/graph/type.h"

namespace epiphyte::core {

// The maximum rank, as in numpy. Without a limit a small file could request huge shapes for each of many nodes.
inline constexpr size_t kMaxRank = 64;

// Returns Unknown for opaque and empty types. A negative dimension is treated as unknown. Throws INVALID_PROTOBUF, and
// INVALID_GRAPH for an element type that ONNX doesn't have and for types nested deeper than kMaxNesting.
TypePtr ReadType(std::string_view type_proto);

struct ValueInfo {
  std::string_view name;
  TypePtr type;  // null when absent
};
ValueInfo ReadValueInfo(std::string_view value_info_proto);

}  // namespace epiphyte::core
