// TypeProto and ValueInfoProto to types.
#pragma once

#include <string_view>

#include "core/graph/type.h"

namespace epiphyte::core {

// No tensor has more dimensions than numpy allows. Without a bound a small file could ask for shapes of any size at
// each of many nodes.
inline constexpr size_t kMaxRank = 64;

// Unknown for opaque and empty types; a negative dimension counts as not known. Throws INVALID_PROTOBUF, or
// INVALID_GRAPH for an element type that ONNX doesn't have and for types nested deeper than kMaxNesting.
TypePtr ReadType(std::string_view type_proto);

struct ValueInfo {
  std::string_view name;
  TypePtr type;  // null when absent
};
ValueInfo ReadValueInfo(std::string_view value_info_proto);

}  // namespace epiphyte::core
