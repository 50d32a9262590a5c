// What is known of an operator by its name alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace epiphyte::core {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

// True when some schema (libonnx or overlay) describes the operator in that opset.
bool IsKnownOperator(std::string_view domain, std::string_view op_type, int64_t opset);
// The since_version that the operator has in that opset; 0 when unknown.
int64_t SinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);
// The version that a node of the operator has in a model of that opset: SinceVersion, or, if the opset is older than
// the operator, that of its first version; 0 when unknown, and for an early operator (IsEarlyOperator). Optimisers write
// LayerNormalization and its like into models of any opset, and there is only one thing that they can mean.
int64_t VersionInModel(std::string_view domain, std::string_view op_type, int64_t opset);
// The opset in which the operator changed to what the core doesn't know, if that is at most `opset`; 0 when it didn't.
int64_t UnknownSince(std::string_view domain, std::string_view op_type, int64_t opset);

}  // namespace epiphyte::core
