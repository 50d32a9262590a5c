// Gradients: replaces the Gradient nodes of ai.onnx.preview.training by ai.onnx nodes that compute the derivatives, so
// that no provider sees a Gradient node.
//
// The node names values of the graph around it. The nodes between `xs` and `y` are differentiated in reverse mode, with
// the rules of gradient/. If the node's inputs are other values than the named ones, that part of the graph is
// recomputed from the inputs. Function calls in that part are inlined if they have no rule. For a Gradient of a
// Gradient's output, the inner one is expanded first and its nodes are differentiated.
//
// In the IR a Gradient node has additional inputs after its own: the values that it names, first those of `xs`, then
// those of `zs`, then `y`. The graph's order therefore respects them, and values may be renamed.
#pragma once

#include <vector>

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

class OperatorSchemas;

bool IsGradient(const Node& node);

// Expands all Gradient nodes, nested graphs included, and returns whether there was one. Types must be inferred before
// the call, and are again afterwards. Throws INVALID_GRAPH when a node breaks the operator's rules, NOT_IMPLEMENTED
// when an operator has no rule here; both name the nodes.
bool ExpandGradients(Model& model, const ProgressCallback& on_progress = {}, const OperatorSchemas* schemas = nullptr);

}  // namespace epiphyte::core
