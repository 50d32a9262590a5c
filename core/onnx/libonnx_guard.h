// What libonnx's inference functions take for granted of a node. They read attributes, types and dimensions without a
// look whether they are there, and a model from a file promises nothing.
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

// Throws INVALID_GRAPH when the model contradicts the operator. False when `source`, the schema whose function is to be
// called, describes another signature than the node has.
bool MeetsLibonnxPreconditions(const NodeInference& node, const OperatorSchema& schema, const onnx::OpSchema& source);

// Whether the operator's signature lets a node leave out this input.
bool IsOptionalInput(const onnx::OpSchema& source, size_t index);

}  // namespace epiphyte::core
