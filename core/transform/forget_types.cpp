#include "core/transform/forget_types.h"

#include <algorithm>

#include "core/onnx/inference.h"

namespace epiphyte::core {
namespace {

class Forgetter {
 public:
  explicit Forgetter(const std::unordered_set<const Node*>& changed) : changed_(changed) {}

  // Returns whether an output of the graph is affected.
  bool Walk(Graph& graph) {
    for (const std::unique_ptr<ValueDef>& value : graph.values()) {
      if (value != nullptr && IsStale(value->outer())) stale_.insert(value.get());
    }
    for (Node* node : graph.TopologicalOrder()) WalkNode(*node);
    return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                       [this](const ValueDef* output) { return IsStale(output); });
  }

 private:
  bool IsStale(const ValueDef* value) const { return value != nullptr && stale_.contains(value); }
  bool ReadsStale(const std::vector<ValueDef*>& values) const {
    return std::any_of(values.begin(), values.end(), [this](const ValueDef* value) { return IsStale(value); });
  }

  void WalkNode(Node& node) {
    const bool gets_stale = ReadsStale(node.inputs());
    bool stale = changed_.contains(&node) || gets_stale || ReadsStale(node.implicit_inputs());
    for (Graph* body : node.subgraphs()) {
      if (gets_stale) ForgetInputs(*body);
      stale |= Walk(*body);
    }
    if (!stale) return;
    const bool can_infer = IsKnownOperator(node.domain(), node.op_type(), node.since_version());
    for (ValueDef* output : node.outputs()) {
      if (output == nullptr) continue;
      stale_.insert(output);
      const bool is_declared = node.graph().parent() == nullptr && output->IsOutput();
      if (can_infer && !is_declared) output->set_type(nullptr);
    }
  }

  // What a body gets from its node has the node's element type or none that anybody could infer.
  void ForgetInputs(Graph& body) {
    for (ValueDef* input : body.inputs()) {
      if (input->type() != nullptr && input->type()->IsTensor()) {
        input->set_type(Type::Tensor(input->type()->element_type()));
      }
      stale_.insert(input);
    }
  }

  const std::unordered_set<const Node*>& changed_;
  std::unordered_set<const ValueDef*> stale_;
};

}  // namespace

// Addresses of nodes that are gone may belong to others by now; those lose types that are then inferred again.
void ForgetTypes(Graph& graph, const std::unordered_set<const Node*>& changed) {
  if (!changed.empty()) Forgetter(changed).Walk(graph);
}

}  // namespace epiphyte::core
