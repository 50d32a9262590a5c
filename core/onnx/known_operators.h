// What is known of an operator by its name alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace epiphyte::core {

// True when some schema (libonnx or overlay) describes the operator in that opset.
bool IsKnownOperator(std::string_view domain, std::string_view op_type, int64_t opset);
// The since_version that the operator has in that opset; 0 when unknown.
int64_t SinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);

}  // namespace epiphyte::core
