// Runs libonnx's inference function of a schema on a node of the IR. Messages are made only for what the function asks
// for, and live no longer than the call.
#pragma once

#include <functional>
#include <vector>

#include "core/onnx/node_inference.h"
#include "core/onnx/schema.h"

namespace epiphyte::core {

// Infers a nested graph whose inputs have the given types (null: unknown); returns the types of its outputs.
using InferBody = std::function<std::vector<TypePtr>(Graph& body, const std::vector<TypePtr>& inputs)>;

// Sets the outputs of `node`. Throws INVALID_GRAPH for a contradiction, when the schema and all input types are such
// that libonnx's judgement can be trusted; otherwise what it can't infer stays unknown.
void InferWithLibonnx(NodeInference& node, const OperatorSchema& schema, const InferBody& infer_body);

}  // namespace epiphyte::core
