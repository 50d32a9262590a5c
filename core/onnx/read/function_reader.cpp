// Reads FunctionProto and OperatorSetIdProto.
#include "core/base/error.h"
#include "core/onnx/read/graph_reader.h"
#include "core/onnx/schema/schema.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {

void ReadOpset(std::string_view bytes, std::map<std::string, int64_t>* opsets) {
  std::string domain;
  int64_t version = 0;
  WireReader reader(bytes, "OperatorSetIdProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::opset::kDomain) domain = NormalDomain(field.Bytes());
    if (field.number == proto::opset::kVersion) version = field.Int64();
  }
  const std::string shown = domain.empty() ? "ai.onnx" : domain;
  if (version < 1) {
    Fail(StatusCode::kInvalidGraph, "opset_import lists version {} of domain '{}', 1 or more expected", version, shown);
  }
  const auto [known, is_new] = opsets->emplace(domain, version);
  if (!is_new && known->second != version) {
    Fail(StatusCode::kInvalidGraph, "opset_import lists domain '{}' twice, with versions {} and {}", shown,
         known->second, version);
  }
}

FunctionBody ReadFunction(std::string_view bytes) {
  FunctionBody body;
  WireReader reader(bytes, "FunctionProto");
  for (WireField field; reader.Next(&field);) {
    switch (field.number) {
      case proto::function::kName: body.name = field.Bytes(); break;
      case proto::function::kDomain: body.domain = NormalDomain(field.Bytes()); break;
      case proto::function::kOverload: body.overload = field.Bytes(); break;
      case proto::function::kInput: body.inputs.push_back(field.Bytes()); break;
      case proto::function::kOutput: body.outputs.push_back(field.Bytes()); break;
      case proto::function::kNode: body.nodes.push_back(field.Bytes()); break;
      case proto::function::kAttributeProto: body.defaults.push_back(field.Bytes()); break;
      case proto::function::kOpsetImport: ReadOpset(field.Bytes(), &body.opsets); break;
      default: break;
    }
  }
  return body;
}

}  // namespace epiphyte::core
