#include "core/onnx/infer/operator_check.h"

#include <set>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/onnx/microsoft/microsoft_functions.h"
#include "core/onnx/read/model_functions.h"
#include "core/onnx/schema/known_operators.h"
#include "core/onnx/schema/operator_schemas.h"
#include "core/onnx/schema/schema.h"
#include "core/onnx/wire/printable_errors.h"

namespace epiphyte::core {
namespace {

class OperatorChecker {
 public:
  OperatorChecker(const Model& model, const ProgressCallback& on_progress, const OperatorSchemas* custom)
      : functions_(ModelFunctions::Of(model)), on_progress_(on_progress), custom_(custom) {}

  void Check(const Graph& graph) {
    uint64_t checked = 0;
    for (const auto& node : graph.nodes()) {
      if (node == nullptr) continue;
      if (++checked % kNodesPerReport == 0)
        ReportProgress(on_progress_, checked, graph.nodes().size(), "checking nodes");
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
      return;  // without a schema, a provider may still know the operator
    }
    if (HasMicrosoftFunction(node)) return;  // optimizers omit the domain of some of these
    CheckNewerOpset(node);
    if (const OperatorSchema* schema = schemas_.Find(node.domain(), node.op_type(), node.since_version())) {
      CheckNode(node, *schema);
      return;
    }
    const std::string nearest = NearestOperator(node.domain(), node.op_type());
    const int64_t opset = node.graph().Opset(node.domain());
    const int64_t newest = MaxOpset(node.domain());
    std::string hint;
    if (opset > newest) hint = fmt::format("; opsets up to {} are known, export the model with one of those", newest);
    if (!nearest.empty() && nearest != node.op_type()) hint += fmt::format("; did you mean {}?", nearest);
    Fail(StatusCode::kNotImplemented, "{}: no operator of that name in opset {} of domain '{}'{}", NodeLabel(node),
         opset, Shown(node.domain()), hint);
  }

  static std::string_view Shown(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

  // Most operators of an opset that the core doesn't know are unchanged since the newest opset that it knows.
  void CheckNewerOpset(const Node& node) {
    const int64_t opset = node.graph().Opset(node.domain());
    const int64_t newest = MaxOpset(node.domain());
    if (opset <= newest) return;
    if (const int64_t since = UnknownSince(node.domain(), node.op_type(), opset)) {
      Fail(StatusCode::kNotImplemented,
           "{}: {} has changed in opset {} of ai.onnx, opsets up to {} are known; export the model with one of those",
           NodeLabel(node), node.op_type(), since, newest);
    }
    if (!newer_domains_.insert(node.domain()).second) return;
    Log(LogLevel::kWarning, "onnx",
        "the model is of opset {} of domain '{}', {} is the newest known; its operators are taken as that one has them",
        opset, Shown(node.domain()), newest);
  }

  const ModelFunctions* functions_;
  const ProgressCallback& on_progress_;
  const OperatorSchemas* custom_;
  SchemaTable schemas_;
  std::set<std::string> newer_domains_;  // domains with a warning logged already
};

}  // namespace

void CheckOperators(const Model& model, const ProgressCallback& on_progress, const OperatorSchemas* schemas) {
  WithPrintableErrors("", [&] { OperatorChecker(model, on_progress, schemas).Check(*model.graph); });
}

}  // namespace epiphyte::core
