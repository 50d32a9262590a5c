// Inference of Loop. A carried value has the shape that it begins with and, from the second turn on, the one that the
// body makes of it, so its type is what both have in common. What the body declares of it counts for nothing more.
#pragma once

#include "core/onnx/libonnx_inference.h"
#include "core/onnx/node_inference.h"

namespace epiphyte::core {

// Sets the outputs of `node`, which must have the operator Loop. Throws INVALID_GRAPH when a carried value changes its
// kind or element type.
void InferLoop(NodeInference& node, const InferBody& infer_body);

}  // namespace epiphyte::core
