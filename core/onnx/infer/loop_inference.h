// Inference of Loop. A carried value has its initial shape in the first iteration, and the shape that the body produces
// from the second on. Its type is the most precise one that covers both. Declared types in the body are ignored for
// carried values.
#pragma once

#include "core/onnx/infer/libonnx_inference.h"
#include "core/onnx/infer/node_inference.h"

namespace epiphyte::core {

// Sets the outputs of `node`, which must have the operator Loop. Throws INVALID_GRAPH when a carried value changes its
// kind or element type.
void InferLoop(NodeInference& node, const InferBody& infer_body);

}  // namespace epiphyte::core
