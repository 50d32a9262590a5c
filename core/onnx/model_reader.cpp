#include "core/onnx/model_reader.h"

#include "core/base/error.h"
#include "core/base/mapped_file.h"
#include "core/onnx/gradient/gradients.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/infer/operator_check.h"
#include "core/onnx/read/file_kind.h"
#include "core/onnx/read/graph_reader.h"
#include "core/onnx/read/model_functions.h"
#include "core/onnx/schema/libonnx_call.h"
#include "core/onnx/wire/printable_errors.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {
namespace {

constexpr int64_t kMaxIrVersion = 13;
// From this IR version on a model must import its opset; older models have an implicit one.
constexpr int64_t kFirstIrVersionWithOpsets = 3;
// Before this IR version every initializer had to be an input, so being an input did not mean overridable.
constexpr int64_t kFirstIrVersionWithOverridable = 4;

struct ModelFields {
  std::optional<std::string_view> graph;
  std::vector<std::string_view> opsets;
  std::vector<std::string_view> functions;
};

std::pair<std::string, std::string> ReadEntry(std::string_view bytes) {
  std::pair<std::string, std::string> entry;
  WireReader reader(bytes, "StringStringEntryProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::entry::kKey) entry.first = field.Bytes();
    if (field.number == proto::entry::kValue) entry.second = field.Bytes();
  }
  return entry;
}

ModelFields ReadFields(std::string_view bytes, Model* model) {
  ModelFields fields;
  WireReader reader(bytes, "ModelProto");
  for (WireField field; reader.Next(&field);) {
    switch (field.number) {
      case proto::model::kIrVersion: model->ir_version = field.Int64(); break;
      case proto::model::kProducerName: model->producer_name = field.Bytes(); break;
      case proto::model::kProducerVersion: model->producer_version = field.Bytes(); break;
      case proto::model::kDomain: model->domain = field.Bytes(); break;
      case proto::model::kModelVersion: model->model_version = field.Int64(); break;
      case proto::model::kDocString: model->doc_string = field.Bytes(); break;
      case proto::model::kGraph: fields.graph = field.Bytes(); break;
      case proto::model::kOpsetImport: fields.opsets.push_back(field.Bytes()); break;
      case proto::model::kMetadata: model->metadata.insert(ReadEntry(field.Bytes())); break;
      case proto::model::kFunctions: fields.functions.push_back(field.Bytes()); break;
      default: break;
    }
  }
  return fields;
}

std::map<std::string, int64_t> ReadOpsets(const ModelFields& fields, int64_t ir_version) {
  std::map<std::string, int64_t> opsets;
  for (const std::string_view bytes : fields.opsets) ReadOpset(bytes, &opsets);
  if (opsets.empty()) {
    if (ir_version >= kFirstIrVersionWithOpsets) {
      Fail(StatusCode::kInvalidGraph, "the model has no opset_import, which IR version {} requires; export it again",
           ir_version);
    }
    opsets[""] = 1;
  }
  return opsets;
}

// Most files that are no models fail in the walk. This adds the probable kind of file to the error.
template <typename Walk>
auto ExplainIfForeign(std::string_view bytes, Walk walk) {
  try {
    return walk();
  } catch (const Error& error) {
    const std::string_view kind = GuessFileKind(bytes);
    if (error.code() != StatusCode::kInvalidProtobuf || kind.empty()) throw;
    Fail(StatusCode::kInvalidProtobuf, "this looks like {}, an ONNX model expected", kind);
  }
}

Model ReadModel(std::string_view bytes, std::shared_ptr<const void> owner, std::shared_ptr<ExternalData> external,
                const ReadOptions& options) {
  const LibonnxCall call;
  if (bytes.empty()) Fail(StatusCode::kInvalidProtobuf, "the model is empty, an ONNX model expected");
  Model model;
  const ModelFields fields = ExplainIfForeign(bytes, [&] {
    ModelFields found = ReadFields(bytes, &model);
    if (!found.graph) Fail(StatusCode::kInvalidProtobuf, "no graph found, an ONNX model expected");
    return found;
  });
  if (model.ir_version < 1 || model.ir_version > kMaxIrVersion) {
    Fail(model.ir_version > kMaxIrVersion ? StatusCode::kNotImplemented : StatusCode::kInvalidGraph,
         "the model has IR version {}, 1 to {} are supported; export it again", model.ir_version, kMaxIrVersion);
  }
  const std::map<std::string, int64_t> opsets = ReadOpsets(fields, model.ir_version);
  if (options.accept_model) options.accept_model(bytes, model.metadata);
  external->Redirect(options.open_external);
  external->Check(options.accept_external);
  const TensorReader tensors(owner, external.get());
  GraphReader reader(tensors, opsets, options.schemas, options.on_progress, options.max_nodes);
  if (model.ir_version >= kFirstIrVersionWithOverridable && !options.constant_initializers) reader.KeepOverridable();
  model.graph = reader.Read(*fields.graph);
  model.graph->Finalize();
  model.storage = owner;
  std::shared_ptr<const ModelFunctions> functions;
  if (!fields.functions.empty()) functions = std::make_shared<ModelFunctions>(fields.functions, owner, external);
  model.functions = functions;
  if (options.infer) {
    CheckOperators(model, options.on_progress, options.schemas);
    InferDeclaredTypes(*model.graph, options.on_progress, options.schemas);
    ExpandGradients(model, options.on_progress, options.schemas);
  }
  if (options.keep_function) InlineFunctions(model, options.keep_function, options.schemas);
  return model;
}

}  // namespace

Model ReadModelFile(const std::filesystem::path& path, const ReadOptions& options) {
  const std::shared_ptr<const MappedFile> file = MappedFile::Open(path);
  if (options.on_model_mapped) options.on_model_mapped(file);
  const std::string_view bytes(reinterpret_cast<const char*>(file->data()), file->size());
  auto external = std::make_shared<ExternalData>(options.external_data_folder.empty()
                                                     ? ExternalData::BesideModel(path)
                                                     : ExternalData::InFolder(options.external_data_folder));
  Model model = [&] {
    try {
      return WithPrintableErrors(fmt::format("model '{}': ", path.string()),
                                 [&] { return ReadModel(bytes, file, std::move(external), options); });
    } catch (const Error&) {
      file->RequireIntact();  // a truncated file explains the error better
      throw;
    }
  }();
  file->RequireIntact();
  // Small tensors have been copied, and callbacks may have read other parts of the file.
  file->ReleasePages();
  return model;
}

Model ReadModelMemory(const void* bytes, size_t size, std::shared_ptr<const void> owner, const ReadOptions& options) {
  if (bytes == nullptr && size > 0)
    Fail(StatusCode::kInvalidArgument, "the model has {} bytes at a null address", size);
  auto external = std::make_shared<ExternalData>();
  if (!options.external_data_folder.empty()) *external = ExternalData::InFolder(options.external_data_folder);
  return WithPrintableErrors("", [&] {
    return ReadModel({static_cast<const char*>(bytes), size}, std::move(owner), std::move(external), options);
  });
}

}  // namespace epiphyte::core
