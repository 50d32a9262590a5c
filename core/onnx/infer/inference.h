// Type and shape inference over the graph IR, node by node. It uses the schemas of libonnx, and the core's overlay for
// operators and versions that the installed libonnx doesn't know.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"
#include "core/onnx/schema/known_operators.h"

namespace epiphyte::core {

class OperatorSchemas;

// Sets the types of all values that can be inferred, nested graphs included. A declared type adds information that
// inference lacks; see declared_types.h for contradictions. Linear in the number of nodes, except that nodes in Loop
// bodies are inferred a few times. `on_progress` reports the nodes done.
//
// `schemas` describes operators of other domains; may be null.
void InferTypes(Graph& graph, const ProgressCallback& on_progress = {}, const OperatorSchemas* schemas = nullptr);
// Like InferTypes, for a graph as it was read. Inputs that are declared as scalars but can't be scalars become tensors
// of any shape.
void InferDeclaredTypes(Graph& graph, const ProgressCallback& on_progress, const OperatorSchemas* schemas);

// Incremental inference, for callers that add nodes and need the types of their outputs at once. The constructor infers
// `graph`. No value may be removed during the object's lifetime.
class RunningInference {
 public:
  explicit RunningInference(Graph& graph, const ProgressCallback& on_progress = {},
                            const OperatorSchemas* schemas = nullptr);
  ~RunningInference();
  // Infers one node. The types of its inputs must be inferred already.
  void Infer(Node& node);
  // The elements of an integer tensor of rank 0 or 1, if they are known before the run.
  std::optional<std::vector<int64_t>> Ints(const ValueDef* value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Replaces every function node (model-local or schema function) by its body, recursively, unless `keep` returns true
// for it. Also expands Gradient nodes of these bodies. Nodes without a function body stay. `inlined` is called for each
// node before it is removed.
bool InlineFunctions(Model& model, const std::function<bool(const Node&)>& keep,
                     const OperatorSchemas* schemas = nullptr, const std::function<void(const Node&)>& inlined = {});
// Like InlineFunctions, but inlines one level only and leaves the new nodes without types. For callers with a `keep`
// that needs types and neighbours. Call it until it returns false, with InferTypes() and ExpandGradients() in between.
// `*nodes` starts at 0 and counts the nodes that all these calls add, to bound them.
bool InlineOuterFunctions(Model& model, const std::function<bool(const Node&)>& keep, const OperatorSchemas* schemas,
                          const std::function<void(const Node&)>& inlined, size_t* nodes);

// Prefix of the names in a body that replaces `call`: "name/", with the name of its first output if the call has no
// name.
std::string BodyPrefix(const Node& call);

}  // namespace epiphyte::core
