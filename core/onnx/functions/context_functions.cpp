#include "core/onnx/functions/context_functions.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/graph/context_node.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/read/model_functions.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {
namespace {

// Determines the functions that contain EPContext nodes. ModelFunctions has checked that calls are neither recursive
// nor nested too deep.
class ContextHolders {
 public:
  explicit ContextHolders(const ModelFunctions& functions) : functions_(functions) {}

  bool Holds(std::string_view domain, std::string_view op_type) {
    const FunctionBody* body = functions_.Find(domain, op_type);
    if (body == nullptr) return false;
    const auto [known, is_new] = holds_.try_emplace({std::string(domain), std::string(op_type)}, false);
    if (!is_new) return known->second;
    bool holds = false;
    for (const std::string_view node : body->nodes) holds = holds || NodeHolds(node, 0);
    return holds_[{std::string(domain), std::string(op_type)}] = holds;
  }

 private:
  bool NodeHolds(std::string_view bytes, int depth) {
    std::string_view op_type, domain, overload;
    bool holds = false;
    WireReader reader(bytes, "NodeProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::node::kOpType) op_type = field.Bytes();
      if (field.number == proto::node::kDomain) domain = field.Bytes();
      if (field.number == proto::node::kOverload) overload = field.Bytes();
      if (field.number == proto::node::kAttribute) holds = holds || AttributeHolds(field.Bytes(), depth);
    }
    return holds || (op_type == kContextOp && domain == kContextDomain) ||
           Holds(domain, QualifiedOpType(op_type, overload));
  }

  bool AttributeHolds(std::string_view bytes, int depth) {
    if (depth > kMaxNesting) {
      Fail(StatusCode::kInvalidGraph, "graphs are nested deeper than {} levels; export the model again", kMaxNesting);
    }
    bool holds = false;
    WireReader reader(bytes, "AttributeProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number != proto::attribute::kGraph && field.number != proto::attribute::kGraphs) continue;
      WireReader graph(field.Bytes(), "GraphProto");
      for (WireField inner; graph.Next(&inner);) {
        if (inner.number == proto::graph::kNode) holds = holds || NodeHolds(inner.Bytes(), depth + 1);
      }
    }
    return holds;
  }

  const ModelFunctions& functions_;
  std::map<std::pair<std::string, std::string>, bool> holds_;
};

}  // namespace

void InlineContextFunctions(Model* model) {
  const ModelFunctions* functions = ModelFunctions::Of(*model);
  if (functions == nullptr) return;
  ContextHolders holders(*functions);
  InlineFunctions(*model, [&](const Node& node) { return !holders.Holds(node.domain(), node.op_type()); });
  model->graph->Finalize();
}

}  // namespace epiphyte::core
