// Gradients: the Gradient nodes of ai.onnx.preview.training replaced by ai.onnx nodes that compute what they ask for,
// so that no provider ever sees one.
//
// The node names values of the graph around it: what lies between `xs` and `y` is differentiated in reverse mode, with
// the rules of gradient/. Where the node is given other values than those it names, that part of the graph is computed
// once more, from what is given. Functions in that part give way to their bodies if there is no rule for them. A
// Gradient of a Gradient's output differentiates what that one has become.
//
// In the IR a Gradient node has further inputs behind its own: the values that it names, those of `xs`, those of `zs`,
// and `y`. So the graph's order takes them into account, and names may change.
#pragma once

#include <vector>

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

class OperatorSchemas;

bool IsGradient(const Node& node);

// Returns whether there was one, nested graphs included. Types must have been inferred, and have been again after it.
// Throws INVALID_GRAPH where a node breaks the operator's rules, NOT_IMPLEMENTED where something has no rule here; both
// name the nodes.
bool ExpandGradients(Model& model, const ProgressCallback& on_progress = {}, const OperatorSchemas* schemas = nullptr);

}  // namespace epiphyte::core
