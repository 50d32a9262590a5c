#include "core/onnx/operator_check.h"

#include <string>

#include "core/base/error.h"
#include "core/onnx/microsoft_functions.h"
#include "core/onnx/model_functions.h"
#include "core/onnx/operator_schemas.h"
#include "core/onnx/printable_errors.h"
#include "core/onnx/schema.h"

namespace epiphyte::core {
namespace {

class OperatorChecker {
 public:
  OperatorChecker(const Model& model, const Pulse& pulse, const OperatorSchemas* custom)
      : functions_(ModelFunctions::Of(model)), pulse_(pulse), custom_(custom) {}

  void Check(const Graph& graph) {
    uint64_t checked = 0;
    for (const auto& node : graph.nodes()) {
      if (node == nullptr) continue;
      if (++checked % kNodesPerBeat == 0) Beat(pulse_, checked, graph.nodes().size(), "checking nodes");
      for (const Graph* body : node->subgraphs()) Check(*body);
      CheckOne(*node);
    }
  }

 private:
  void CheckOne(const Node& node) {
    if (functions_ != nullptr && functions_->Find(node.domain(), node.op_type()) != nullptr) return;
    if (MaxOpset(node.domain()) == 0) {
      const CustomOperator* schema = FindCustomOperator(custom_, node.domain(), node.op_type(), node.since_version());
      if (schema != nullptr) CheckNode(node, *schema);
      return;  // without one, a provider may know it all the same
    }
    if (HasMicrosoftFunction(node)) return;  // optimisers leave out the domain of some
    if (const OperatorSchema* schema = schemas_.Find(node.domain(), node.op_type(), node.since_version())) {
      CheckNode(node, *schema);
      return;
    }
    const std::string nearest = NearestOperator(node.domain(), node.op_type());
    Fail(StatusCode::kNotImplemented, "{}: no operator of that name in opset {} of domain '{}'{}", NodeLabel(node),
         node.graph().Opset(node.domain()), node.domain().empty() ? "ai.onnx" : node.domain(),
         nearest.empty() || nearest == node.op_type() ? "" : fmt::format("; did you mean {}?", nearest));
  }

  const ModelFunctions* functions_;
  const Pulse& pulse_;
  const OperatorSchemas* custom_;
  SchemaTable schemas_;
};

}  // namespace

void CheckOperators(const Model& model, const Pulse& pulse, const OperatorSchemas* schemas) {
  WithPrintableErrors("", [&] { OperatorChecker(model, pulse, schemas).Check(*model.graph); });
}

}  // namespace epiphyte::core
