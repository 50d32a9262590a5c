#include "core/onnx/write/model_writer.h"

#include "core/base/error.h"
#include "core/onnx/read/model_functions.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_writer.h"
#include "core/onnx/write/graph_writer.h"

namespace epiphyte::core {
namespace {

// Protobuf's size limit of a message.
constexpr uint64_t kMaxModelBytes = (uint64_t{1} << 31) - 1;

void Emit(const Model& model, const WriteOptions& options, WireWriter& out) {
  const auto text = [&out](uint32_t field, const std::string& value) {
    if (!value.empty()) out.Bytes(field, value);
  };
  out.Int(proto::model::kIrVersion, model.ir_version);
  text(proto::model::kProducerName, model.producer_name);
  text(proto::model::kProducerVersion, model.producer_version);
  text(proto::model::kDomain, model.domain);
  if (model.model_version != 0) out.Int(proto::model::kModelVersion, model.model_version);
  text(proto::model::kDocString, model.doc_string);
  // Written before the graph, so that a file that is truncated after it is still identifiable.
  for (const auto& entry : model.metadata) {
    out.Message(proto::model::kMetadata, [&] {
      out.Bytes(proto::entry::kKey, entry.first);
      out.Bytes(proto::entry::kValue, entry.second);
    });
  }
  out.Message(proto::model::kGraph, [&] { GraphWriter(options, model.ir_version, out).Write(*model.graph); });
  for (const auto& opset : model.graph->opsets()) {
    out.Message(proto::model::kOpsetImport, [&] {
      out.Bytes(proto::opset::kDomain, opset.first);
      out.Int(proto::opset::kVersion, opset.second);
    });
  }
  if (const ModelFunctions* functions = ModelFunctions::Of(model)) {
    for (const std::string_view function : functions->protos()) out.Bytes(proto::model::kFunctions, function);
  }
}

WireWriter Count(const Model& model, const WriteOptions& options) {
  if (!model.graph) Fail(StatusCode::kInvalidArgument, "the model has no graph, so it can't be written");
  if (!options.external_file_name.empty() && !options.external_sink) {
    Fail(StatusCode::kInvalidArgument, "external file '{}' has no sink to write to", options.external_file_name);
  }
  WireWriter counter;
  Emit(model, options, counter);
  return counter;
}

}  // namespace

void WriteModel(const Model& model, const WriteOptions& options, const ByteSink& sink) {
  WireWriter counter = Count(model, options);
  if (counter.size() > kMaxModelBytes) {
    Fail(StatusCode::kInvalidArgument,
         "the model has {} bytes, protobuf allows {}; write its initializers to an external file, and contexts to "
         "files of their own",
         counter.size(), kMaxModelBytes);
  }
  WireWriter writer(std::move(counter), sink);
  Emit(model, options, writer);
  writer.Flush();
}

uint64_t ModelByteSize(const Model& model, const WriteOptions& options) { return Count(model, options).size(); }

}  // namespace epiphyte::core
