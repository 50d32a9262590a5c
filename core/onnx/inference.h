// Type and shape inference over the graph IR, node by node, with the schemas of libonnx and the core's own overlay for
// operators and versions that the installed libonnx doesn't know.
#pragma once

#include <functional>

#include <string_view>

#include "core/base/pulse.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

// True when some schema (libonnx or overlay) describes the operator in that opset.
bool IsKnownOperator(std::string_view domain, std::string_view op_type, int64_t opset);
// The since_version that the operator has in that opset; 0 when unknown.
int64_t SinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);

// Sets the type of every value that can be known, nested graphs included. Declared types win over inferred ones when
// they are more precise; a contradiction of element types is INVALID_GRAPH. Linear in nodes. `pulse` beats with the
// nodes that are done.
void InferTypes(Graph& graph, const Pulse& pulse = {});

// Replaces every function node (model-local or schema function) for which `keep` says false by its body, recursively.
// Nodes that have no function body stay. `inlined` is told of each that goes, before it does.
bool InlineFunctions(Model& model, const std::function<bool(const Node&)>& keep,
                     const std::function<void(const Node&)>& inlined = {});

}  // namespace epiphyte::core
