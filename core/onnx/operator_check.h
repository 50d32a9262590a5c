// CheckOperators: whether the nodes of a model are what the schemas of their operators demand.
#pragma once

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

class OperatorSchemas;

// Numbers of inputs and outputs, and attributes; in nested graphs too. Calls of the model's functions and operators
// that nobody describes are not looked at. Throws INVALID_GRAPH naming a node, NOT_IMPLEMENTED for an operator that its
// opset doesn't have. `on_progress` beats with the nodes that are done. `schemas`: who describes operators of other
// domains than ONNX's; may be null.
void CheckOperators(const Model& model, const ProgressCallback& on_progress = {},
                    const OperatorSchemas* schemas = nullptr);

}  // namespace epiphyte::core
