// Facts about an operator that follow from its name and the opset alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace epiphyte::core {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

// True when a schema (libonnx or overlay) describes the operator in that opset.
bool IsKnownOperator(std::string_view domain, std::string_view op_type, int64_t opset);
// The since_version that the operator has in that opset; 0 when unknown.
int64_t SinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);
// The version of the operator in a model with that opset. It is SinceVersion; if the opset is older than the operator,
// it is the operator's first version. Reason: optimizers write LayerNormalization and similar operators into models of
// any opset, and their meaning is unambiguous. 0 when unknown, and for an early operator (IsEarlyOperator).
int64_t VersionInModel(std::string_view domain, std::string_view op_type, int64_t opset);
// The opset in which the operator changed in a way that the core doesn't know, if that is at most `opset`; 0 otherwise.
int64_t UnknownSince(std::string_view domain, std::string_view op_type, int64_t opset);

}  // namespace epiphyte::core
