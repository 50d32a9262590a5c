// Operators of com.microsoft that exporters and optimizers write, defined as functions of ai.onnx operators. A provider
// that claims such an operator keeps it whole, like any function. For other providers the body replaces it. Inference
// derives its types from the body. The bodies are in microsoft/, by family.
//
//   if (HasMicrosoftFunction(node)) {
//     const std::optional<std::string> function = BuildMicrosoftFunction(node);
//     if (function) …  // else types are missing that a later inference may find
//   }
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace epiphyte::core {

inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

// True for these operators, including two groups outside of com.microsoft: SimplifiedLayerNormalization, which
// optimizers write without a domain, and operators of ai.onnx's first opsets that ONNX removed and ONNX Runtime kept,
// in graphs of those opsets.
bool HasMicrosoftFunction(const Node& node);

// True for such an operator of ai.onnx's first opsets, in a model of that opset.
bool IsEarlyOperator(std::string_view domain, std::string_view op_type, int64_t opset);

// A serialised FunctionProto for this particular call; its inputs and outputs are parallel to the node's. nullopt when
// information that the body depends on isn't known yet; `*missing`, if not null, says which. Throws INVALID_GRAPH when
// the call is wrong, and NOT_IMPLEMENTED when no body can express it. Messages name the node.
std::optional<std::string> BuildMicrosoftFunction(const Node& node, std::string* missing = nullptr);

// The known operator with the name closest to `op_type`, or "".
std::string NearestMicrosoftOperator(std::string_view op_type);

}  // namespace epiphyte::core
