// Runs libonnx's inference function of a schema on a node of the IR. Protobuf messages are made only for the parts that
// the function requests, and live during the call only.
#pragma once

#include <functional>
#include <vector>

#include "core/onnx/infer/node_inference.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {

// Infers a nested graph with inputs of the given types (null: unknown). Returns the types of its outputs.
using InferBody = std::function<std::vector<TypePtr>(Graph& body, const std::vector<TypePtr>& inputs)>;

// Sets the types of the outputs of `node`. Throws INVALID_GRAPH for a contradiction if libonnx's errors can be trusted
// for this schema and these input types. Otherwise outputs that it can't infer stay unknown.
void InferWithLibonnx(NodeInference& node, const OperatorSchema& schema, const InferBody& infer_body);

}  // namespace epiphyte::core
