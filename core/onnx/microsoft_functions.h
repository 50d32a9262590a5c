// The operators of com.microsoft that exporters and optimisers write, as functions of ai.onnx operators. A provider
// that claims such an operator keeps it whole, as it keeps any function; for all others its body takes its place, and
// inference learns its types from there. The bodies are in microsoft/, by family.
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

// SimplifiedLayerNormalization, which optimisers write without a domain, counts; so do the operators of ai.onnx's first
// opsets that ONNX dropped and ONNX Runtime kept, in graphs of those opsets.
bool HasMicrosoftFunction(const Node& node);

// Such an operator of ai.onnx's first opsets, in a model of that opset.
bool IsEarlyOperator(std::string_view domain, std::string_view op_type, int64_t opset);

// A serialised FunctionProto of this very call, whose inputs and outputs are parallel to the node's. nullopt: what the
// body depends on isn't known yet; `*missing`, if not null, says what. Throws INVALID_GRAPH when the call is wrong, and
// NOT_IMPLEMENTED when no body says what it asks for; the messages name the node.
std::optional<std::string> BuildMicrosoftFunction(const Node& node, std::string* missing = nullptr);

// The known operator whose name is most like `op_type`, or "".
std::string NearestMicrosoftOperator(std::string_view op_type);

}  // namespace epiphyte::core
