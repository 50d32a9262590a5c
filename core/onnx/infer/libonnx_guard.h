// Checks the preconditions of libonnx's inference functions. They read attributes, types and dimensions without
// checking that these exist, and a model from a file guarantees nothing.
//
//   if (!MeetsLibonnxPreconditions(node, schema, *source)) return;  // the outputs stay unknown
//   source->GetTypeAndShapeInferenceFunction()(context);
#pragma once

#include <cstddef>

namespace onnx {
class OpSchema;
}

namespace epiphyte::core {

class NodeInference;
struct OperatorSchema;

// Throws INVALID_GRAPH when the model contradicts the operator. `source` is the schema with the function to be called.
// Returns false when its signature differs from the node's.
bool MeetsLibonnxPreconditions(const NodeInference& node, const OperatorSchema& schema, const onnx::OpSchema& source);

// Whether the operator's signature allows a node to omit this input.
bool IsOptionalInput(const onnx::OpSchema& source, size_t index);

}  // namespace epiphyte::core
