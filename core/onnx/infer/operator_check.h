// CheckOperators: checks the nodes of a model against the schemas of their operators.
#pragma once

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

class OperatorSchemas;

// Checks the numbers of inputs and outputs, and the attributes, in nested graphs too. Calls of the model's functions
// and operators without a schema are skipped. Throws INVALID_GRAPH and names a node; throws NOT_IMPLEMENTED for an
// operator that its opset doesn't have. `on_progress` reports the nodes done. `schemas` describes operators outside
// ONNX's domains; may be null.
void CheckOperators(const Model& model, const ProgressCallback& on_progress = {},
                    const OperatorSchemas* schemas = nullptr);

}  // namespace epiphyte::core
