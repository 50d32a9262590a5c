#include "core/onnx/read/model_scan.h"

#include "core/base/error.h"
#include "core/graph/context_node.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {
namespace {

class Scanner {
 public:
  explicit Scanner(ModelScan* scan) : scan_(scan) {}

  void Model(std::string_view bytes) {
    WireReader reader(bytes, "ModelProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::model::kGraph) Graph(field.Bytes(), 0);
      if (field.number == proto::model::kFunctions) Function(field.Bytes());
    }
  }

 private:
  void Graph(std::string_view bytes, int depth) {
    if (depth > kMaxNesting) {
      Fail(StatusCode::kInvalidGraph, "graphs are nested deeper than {} levels; export the model again", kMaxNesting);
    }
    WireReader reader(bytes, "GraphProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::graph::kNode) Node(field.Bytes(), depth);
      if (field.number == proto::graph::kInitializer) Tensor(field.Bytes());
      if (field.number == proto::graph::kSparseInitializer) SparseTensor(field.Bytes());
    }
  }

  void Function(std::string_view bytes) {
    WireReader reader(bytes, "FunctionProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::function::kNode) Node(field.Bytes(), 0);
      if (field.number == proto::function::kAttributeProto) Attribute(field.Bytes(), 0);
    }
  }

  void Node(std::string_view bytes, int depth) {
    std::string_view op_type, domain;
    WireReader reader(bytes, "NodeProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::node::kOpType) op_type = field.Bytes();
      if (field.number == proto::node::kDomain) domain = field.Bytes();
      if (field.number == proto::node::kAttribute) Attribute(field.Bytes(), depth);
    }
    if (op_type == kContextOp && domain == kContextDomain) scan_->has_context_nodes = true;
  }

  void Attribute(std::string_view bytes, int depth) {
    WireReader reader(bytes, "AttributeProto");
    for (WireField field; reader.Next(&field);) {
      switch (field.number) {
        case proto::attribute::kTensor:
        case proto::attribute::kTensors: Tensor(field.Bytes()); break;
        case proto::attribute::kSparseTensor:
        case proto::attribute::kSparseTensors: SparseTensor(field.Bytes()); break;
        case proto::attribute::kGraph:
        case proto::attribute::kGraphs: Graph(field.Bytes(), depth + 1); break;
        default: break;
      }
    }
  }

  void SparseTensor(std::string_view bytes) {
    WireReader reader(bytes, "SparseTensorProto");
    for (WireField field; reader.Next(&field);) {
      const bool tensor =
          field.number == proto::sparse_tensor::kValues || field.number == proto::sparse_tensor::kIndices;
      if (tensor) Tensor(field.Bytes());
    }
  }

  void Tensor(std::string_view bytes) {
    WireReader reader(bytes, "TensorProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number != proto::tensor::kExternalData) continue;
      std::string_view key, value;
      WireReader entry(field.Bytes(), "StringStringEntryProto");
      for (WireField part; entry.Next(&part);) {
        if (part.number == proto::entry::kKey) key = part.Bytes();
        if (part.number == proto::entry::kValue) value = part.Bytes();
      }
      if (key == "location" && !scan_->external_files.contains(std::string(value))) {
        scan_->external_files.emplace(value);
      }
    }
  }

  ModelScan* scan_;
};

}  // namespace

ModelScan ScanModel(std::string_view model) {
  ModelScan scan;
  Scanner(&scan).Model(model);
  return scan;
}

}  // namespace epiphyte::core
