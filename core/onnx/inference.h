// Type and shape inference over the graph IR, node by node, with the schemas of libonnx and the core's own overlay for
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
#include "core/onnx/known_operators.h"

namespace epiphyte::core {

class OperatorSchemas;

// Sets the type of every value that can be known, nested graphs included. A declared type adds what inference can't
// know; see declared_types.h for contradictions. Linear in nodes, but for those in the bodies of Loop, which are
// inferred a few times. `on_progress` beats with the nodes that are done.
//
// `schemas`: who describes operators of other domains; may be null.
void InferTypes(Graph& graph, const ProgressCallback& on_progress = {}, const OperatorSchemas* schemas = nullptr);
// The same for a graph as it was read. Inputs that are declared as scalars, but can't be, are taken for tensors of any
// shape.
void InferDeclaredTypes(Graph& graph, const ProgressCallback& on_progress, const OperatorSchemas* schemas);

// The same for who adds nodes and wants to know at once what they make. `graph` is inferred first; no value may be
// removed meanwhile.
class RunningInference {
 public:
  explicit RunningInference(Graph& graph, const ProgressCallback& on_progress = {},
                            const OperatorSchemas* schemas = nullptr);
  ~RunningInference();
  // Of a node whose inputs are inferred already.
  void Infer(Node& node);
  // The elements of an integer tensor of at most one dimension, when they are known before the run.
  std::optional<std::vector<int64_t>> Ints(const ValueDef* value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Replaces every function node (model-local or schema function) for which `keep` says false by its body, recursively,
// and Gradient nodes of these bodies by what they ask for. Nodes that have no function body stay. `inlined` is told of
// each that goes, before it does.
bool InlineFunctions(Model& model, const std::function<bool(const Node&)>& keep,
                     const OperatorSchemas* schemas = nullptr, const std::function<void(const Node&)>& inlined = {});
// The same, but what the bodies hold stays as it is, and without types: for callers whose `keep` has to see types and
// neighbours first. To be called until it returns false, with InferTypes() and ExpandGradients() in between; `*nodes`,
// which begins at 0, counts what the bodies bring in all of these calls, so that it stays bounded.
bool InlineOuterFunctions(Model& model, const std::function<bool(const Node&)>& keep, const OperatorSchemas* schemas,
                          const std::function<void(const Node&)>& inlined, size_t* nodes);

// What the names of a body begin with that takes the place of `call`: "name/", or of its first output if it has no
// name.
std::string BodyPrefix(const Node& call);

}  // namespace epiphyte::core
