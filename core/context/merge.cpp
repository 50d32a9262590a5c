#include "core/context/merge.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/folder_lock.h"
#include "core/base/mapped_file.h"
#include "core/base/staged_file.h"
#include "core/context/context_metadata.h"
#include "core/context/context_target.h"
#include "core/context/merge_graph.h"
#include "core/context/merge_names.h"
#include "core/context/merge_payloads.h"
#include "core/context/output_file.h"
#include "core/context/publisher.h"
#include "core/context/recorded_bytes.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/read/model_functions.h"

namespace epiphyte::core {
namespace {

constexpr PublishMeans kMeans = {"output or external_initializers", "MergeOptions::overwrite",
                                 "it is part of what is merged"};

bool StoresModels(const MergeOptions& options) { return options.store && options.store->StoresModel(); }

void CheckOptions(const MergeOptions& options) {
  if (options.models.size() < 2) {
    Fail(StatusCode::kInvalidArgument, "{} model was given; merging takes two or more", options.models.size());
  }
  if (!StoresModels(options)) StagedFile::CheckTarget(options.output);
  if (!options.external_initializers.empty()) {
    CheckInitializersName(options.external_initializers, options.output, "external_initializers");
  }
}

// Files that the result is made of.
struct Sources {
  std::vector<std::filesystem::path> files;
  UsedFiles mapped;
};

MergeModel ReadChecked(const std::filesystem::path& path, const MergeOptions& options, Sources* sources) {
  ReadOptions read = CheckedReading({.what = fmt::format("'{}'", path.string()), .store = options.store});
  // The model keeps these hooks as long as it lives.
  read.accept_external = [sources, check = std::move(read.accept_external)](const std::string& name,
                                                                            const ExternalFile& file) {
    check(name, file);
    if (file.mapping == nullptr) return;
    sources->mapped.Add(*file.mapping);
    sources->files.push_back(file.mapping->path());
  };
  read.on_model_mapped = [sources](const std::shared_ptr<const MappedFile>& file) { sources->mapped.Add(*file); };
  const auto annotations = std::make_shared<GraphAnnotations>();
  read.accept_model = [annotations, accept = std::move(read.accept_model)](std::string_view bytes,
                                                                           const Metadata& metadata) {
    accept(bytes, metadata);
    *annotations = ReadAnnotations(bytes);
  };
  if (StoresModels(options)) {
    const ContextStore::Bytes bytes = options.store->Open(path.filename().string());
    return {path, MergeStem(path), ReadModelMemory(bytes.data, bytes.size, bytes.owner, read), std::move(*annotations)};
  }
  sources->files.push_back(path);
  return {path, MergeStem(path), ReadModelFile(path, read), std::move(*annotations)};
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

// Returns nothing when a model has plain nodes and doesn't say which providers had them.
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

}  // namespace

MergeResult MergeContextModels(const MergeOptions& options, const Catalog& catalog) {
  CheckOptions(options);
  std::vector<MergeModel> models;
  Sources sources;
  // The shared locks make sure that models and payloads are read as they were published together.
  std::vector<std::unique_ptr<FolderLock>> reading;
  for (const std::filesystem::path& path : options.models) {
    if (!StoresModels(options)) {
      reading.push_back(std::make_unique<FolderLock>(path.parent_path(), FolderLock::kShared));
    }
    models.push_back(ReadChecked(path, options, &sources));
  }
  const std::vector<MergeConnection> connections = ParseConnections(options.connections, models);
  std::set<std::string> reserved = {options.output.filename().string()};
  if (!options.external_initializers.empty()) reserved.insert(options.external_initializers);
  MergePayloads payloads(options.output, options.store, std::move(reserved));
  payloads.Plan(models, OwnersIn(catalog));
  for (const MergedBinary& binary : payloads.binaries()) {
    if (binary.blob.file == nullptr) continue;
    sources.mapped.Add(*binary.blob.file);
    sources.files.push_back(binary.blob.file->path());
  }

  reading.clear();  // mappings stay as they are; publishing takes the lock itself

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
  const std::filesystem::path folder = options.output.parent_path();
  Publisher publisher({.folder = folder, .store = options.store, .means = kMeans});
  publisher.Protect(sources.files, sources.mapped);
  for (const MergedBinary& binary : payloads.binaries()) {
    if (binary.referenced) {
      result.referenced.push_back(folder / binary.name);
      continue;
    }
    auto file = std::make_unique<OutputFile>(folder / binary.name, options.store.get());
    file->Write(binary.blob.data, binary.blob.size);
    file->End();
    publisher.AddFile(std::move(file), options.overwrite);
  }
  publisher.AddModel(merged, {options.output, options.external_initializers, options.overwrite, &joined.annotations});
  result.written = publisher.Publish();
  return result;
}

}  // namespace epiphyte::core
