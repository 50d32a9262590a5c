#include "core/context/merge.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "core/base/error.h"
#include "core/base/folder_lock.h"
#include "core/base/safe_path.h"
#include "core/base/staged_file.h"
#include "core/context/merge_graph.h"
#include "core/context/merge_names.h"
#include "core/context/merge_payloads.h"
#include "core/context/output_file.h"
#include "core/context/recorded_bytes.h"
#include "core/context/seal.h"
#include "core/onnx/model_functions.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/metadata_entry.h"
#include "core/onnx/model_writer.h"

namespace epiphyte::core {
namespace {

void CheckOptions(const MergeOptions& options) {
  if (options.models.size() < 2) {
    Fail(StatusCode::kInvalidArgument, "{} model was given; merging takes two or more", options.models.size());
  }
  StagedFile::CheckTarget(options.output);
  if (!options.external_initializers.empty()) {
    CheckFileName(options.external_initializers, "external initializers");
    const std::filesystem::path name(options.external_initializers);
    if (name.has_parent_path() || name == "." || name == options.output.filename()) {
      Fail(StatusCode::kInvalidArgument,
           "external initializers are to go to '{}'; expected a file name without folders, other than the model's",
           options.external_initializers);
    }
  }
}

// `sources` gets the files that the model is made of.
MergeModel ReadChecked(const std::filesystem::path& path, std::vector<std::filesystem::path>* sources) {
  ReadOptions options = CheckedReading({.what = fmt::format("'{}'", path.string())});
  options.accept_external = [&, check = std::move(options.accept_external)](const std::string& name,
                                                                            const ExternalFile& file) {
    check(name, file);
    sources->push_back(path.parent_path() / name);
  };
  sources->push_back(path);
  return {path, MergeStem(path), ReadModelFile(path, options)};
}

// Whatever may be overwritten: what is merged is not.
void RefuseSources(const MergeOptions& options, const std::vector<std::filesystem::path>& sources,
                   const std::vector<MergedBinary>& binaries) {
  const std::filesystem::path folder = options.output.parent_path();
  std::vector<std::filesystem::path> written = {options.output};
  if (!options.external_initializers.empty()) written.push_back(folder / options.external_initializers);
  for (const MergedBinary& binary : binaries) {
    if (!binary.referenced) written.push_back(folder / binary.name);
  }
  for (const std::filesystem::path& file : written) {
    for (const std::filesystem::path& source : sources) {
      std::error_code error;
      if (!std::filesystem::equivalent(file, source, error)) continue;
      Fail(StatusCode::kInvalidArgument,
           "'{}' would be replaced, but it is part of what is merged; choose another name for what is written",
           file.string());
    }
  }
}

std::shared_ptr<const ModelFunctions> MergeFunctions(const std::vector<MergeModel>& models) {
  std::vector<std::string_view> protos;
  std::map<std::string, std::pair<std::string_view, const MergeModel*>> known;
  for (const MergeModel& model : models) {
    const ModelFunctions* functions = ModelFunctions::Of(model.model);
    if (functions == nullptr) continue;
    for (const std::string_view proto : functions->protos()) {
      const FunctionBody body = ReadFunction(proto);
      const std::string name = fmt::format("{}.{}", body.domain, QualifiedOpType(body.name, body.overload));
      const auto [first, is_new] = known.try_emplace(name, proto, &model);
      if (is_new) {
        protos.push_back(proto);
      } else if (first->second.first != proto) {
        Fail(StatusCode::kInvalidGraph,
             "'{}' and '{}' both define function '{}', and not the same; rename it in one of them",
             first->second.second->path.filename().string(), model.path.filename().string(), name);
      }
    }
  }
  if (protos.empty()) return nullptr;
  return std::make_shared<ModelFunctions>(protos, nullptr, std::make_shared<ExternalData>());
}

Metadata MergeMetadata(const std::vector<MergeModel>& models) {
  Metadata merged;
  std::set<std::string> contradicted;
  for (const MergeModel& model : models) {
    for (const auto& [key, value] : model.model.metadata) {
      if (IsRecordKey(key)) continue;
      const auto [known, is_new] = merged.emplace(key, value);
      if (is_new || known->second == value) continue;
      if (IsCompatibilityKey(key)) {
        contradicted.insert(key);
      } else {
        merged.emplace(model.stem + "." + key, value);
      }
    }
  }
  for (const std::string& key : contradicted) merged.erase(key);
  return merged;
}

size_t CountPlainNodes(const Graph& graph) {
  size_t count = 0;
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    if (!IsContextNode(*node)) ++count;
    for (const Graph* body : node->subgraphs()) count += CountPlainNodes(*body);
  }
  return count;
}

// Nothing where a model has plain nodes and doesn't say who had them.
std::optional<std::vector<std::string>> MergePlainProviders(const std::vector<MergeModel>& models) {
  std::vector<std::string> merged;
  for (const MergeModel& model : models) {
    if (CountPlainNodes(*model.model.graph) == 0) continue;
    const auto recorded = ReadPlainProviders(model.model.metadata);
    if (!recorded) return std::nullopt;
    for (const std::string& provider : *recorded) {
      if (std::find(merged.begin(), merged.end(), provider) == merged.end()) merged.push_back(provider);
    }
  }
  return merged;
}

// The files of the result, staged; those that others refer to first.
class Writing {
 public:
  Writing(const MergeOptions& options, const Model& model, const std::vector<MergedBinary>& binaries)
      : options_(options) {
    const std::filesystem::path folder = options.output.parent_path();
    for (const MergedBinary& binary : binaries) {
      if (binary.referenced) continue;
      auto& file = files_.emplace_back(std::make_unique<OutputFile>(folder / binary.name, nullptr));
      file->Write(binary.blob.data, binary.blob.size);
      file->End();
    }
    Write(model);
  }

  std::vector<std::filesystem::path> Publish() {
    const FolderLock lock(options_.output.parent_path(), FolderLock::kExclusive);
    std::vector<bool> overwrite;
    for (const auto& file : files_) {
      const OutputFile::Existing existing = file->Look();
      if (existing == OutputFile::kDifferent && !options_.overwrite) {
        Fail(StatusCode::kFail,
             "'{}' exists already and has other contents; remove it, choose another output, or set "
             "MergeOptions::overwrite",
             file->target().string());
      }
      overwrite.push_back(existing != OutputFile::kAbsent);
    }
    std::vector<std::filesystem::path> written;
    for (size_t i = 0; i < files_.size(); ++i) {
      files_[i]->Publish(overwrite[i]);
      written.push_back(files_[i]->target());
    }
    written.pop_back();  // the model itself
    return written;
  }

 private:
  void Write(const Model& model) {
    WriteOptions write;
    std::unique_ptr<OutputFile> external;
    if (!options_.external_initializers.empty()) {
      external = std::make_unique<OutputFile>(options_.output.parent_path() / options_.external_initializers, nullptr);
      write.external_file_name = options_.external_initializers;
      write.external_sink = [&](const void* data, uint64_t size) { external->Write(data, size); };
    }
    auto onnx = std::make_unique<OutputFile>(options_.output, nullptr);
    SealWriter sealed([&](const void* data, uint64_t size) { onnx->Write(data, size); });
    WriteModel(model, write, [&](const void* data, uint64_t size) { sealed.Write(data, size); });
    if (external && external->size() > 0) {
      external->End();
      const auto [key, value] =
          InitializersEntry({external->size(), external->xxh128(), options_.external_initializers});
      const std::string entry = MetadataEntry(key, value);
      sealed.Write(entry.data(), entry.size());
      files_.push_back(std::move(external));
    }
    sealed.Finish();
    onnx->End();
    files_.push_back(std::move(onnx));
  }

  const MergeOptions& options_;
  std::vector<std::unique_ptr<OutputFile>> files_;
};

}  // namespace

MergeResult MergeContextModels(const MergeOptions& options, const Catalog& catalog) {
  CheckOptions(options);
  std::vector<MergeModel> models;
  std::vector<std::filesystem::path> sources;
  // Models and payloads are seen as they were published together.
  std::vector<std::unique_ptr<FolderLock>> reading;
  for (const std::filesystem::path& path : options.models) {
    reading.push_back(std::make_unique<FolderLock>(path.parent_path(), FolderLock::kShared));
    models.push_back(ReadChecked(path, &sources));
  }
  const std::vector<MergeConnection> connections = ParseConnections(options.connections, models);
  std::set<std::string> reserved = {options.output.filename().string()};
  if (!options.external_initializers.empty()) reserved.insert(options.external_initializers);
  MergePayloads payloads(options.output, std::move(reserved));
  payloads.Plan(models, OwnersIn(catalog));
  RefuseSources(options, sources, payloads.binaries());
  reading.clear();  // what is mapped stays as it is; publishing takes the lock for itself

  JoinedGraph joined = JoinGraphs(models, connections, MergeStem(options.output));
  Model merged;
  for (const MergeModel& model : models) merged.ir_version = std::max(merged.ir_version, model.model.ir_version);
  merged.producer_name = models[0].model.producer_name;
  merged.producer_version = models[0].model.producer_version;
  merged.domain = models[0].model.domain;
  merged.model_version = models[0].model.model_version;
  merged.doc_string = models[0].model.doc_string;
  merged.metadata = MergeMetadata(models);
  WritePayloadRecords(payloads.Records(), &merged.metadata);
  if (const auto plain = MergePlainProviders(models)) WritePlainProviders(*plain, &merged.metadata);
  merged.functions = MergeFunctions(models);
  merged.graph = std::move(joined.graph);

  MergeResult result;
  result.model = options.output;
  result.renamed = std::move(joined.renamed);
  result.context_nodes = payloads.context_nodes();
  result.plain_nodes = CountPlainNodes(*merged.graph);
  for (const MergedBinary& binary : payloads.binaries()) {
    if (binary.referenced) result.referenced.push_back(options.output.parent_path() / binary.name);
  }
  result.written = Writing(options, merged, payloads.binaries()).Publish();
  return result;
}

}  // namespace epiphyte::core
