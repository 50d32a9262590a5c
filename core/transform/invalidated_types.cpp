#include "core/transform/invalidated_types.h"

#include <algorithm>

#include "core/onnx/infer/inference.h"
#include "core/onnx/schema/operator_schemas.h"

namespace epiphyte::core {
namespace {

using Types = std::vector<std::pair<ValueDef*, TypePtr>>;

class Forgetter {
 public:
  Forgetter(const std::unordered_set<const Node*>& changed, const OperatorSchemas* schemas, Types* invalidated)
      : changed_(changed), schemas_(schemas), forgotten_(invalidated) {}

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
    const bool can_infer = IsKnownOperator(node.domain(), node.op_type(), node.since_version()) ||
                           FindCustomOperator(schemas_, node.domain(), node.op_type(), node.since_version()) != nullptr;
    for (ValueDef* output : node.outputs()) {
      if (output == nullptr) continue;
      stale_.insert(output);
      const bool is_declared = node.graph().parent() == nullptr && output->IsOutput();
      if (!can_infer || is_declared || output->type() == nullptr) continue;
      forgotten_->emplace_back(output, output->type());
      output->set_type(nullptr);
    }
  }

  // The inputs of a nested graph keep the element type that their node passes in. Inference can't find it again.
  void ForgetInputs(Graph& body) {
    for (ValueDef* input : body.inputs()) {
      if (input->type() != nullptr) input->set_type(WithoutShape(input->type()));
      stale_.insert(input);
    }
  }

  const std::unordered_set<const Node*>& changed_;
  const OperatorSchemas* schemas_;
  Types* forgotten_;
  std::unordered_set<const ValueDef*> stale_;
};

}  // namespace

// A removed node's address may belong to a new node by now. That node then loses types that are inferred again, which
// does no harm.
InvalidatedTypes::InvalidatedTypes(Graph& graph, const std::unordered_set<const Node*>& changed,
                                   const OperatorSchemas* schemas) {
  if (!changed.empty()) Forgetter(changed, schemas, &types_).Walk(graph);
}

void InvalidatedTypes::Restore() const {
  for (const auto& [value, type] : types_) {
    const bool is_known = value->type() != nullptr && value->type()->kind() != EP_KIND_UNKNOWN;
    if (!is_known) value->set_type(WithoutShape(type));
  }
}

}  // namespace epiphyte::core
