#include "core/runtime/session_source.h"

#include <string>
#include <utility>
#include <vector>

#include "core/onnx/write/annotations.h"
#include "core/onnx/model_reader.h"

namespace epiphyte::core {
namespace {

// Name for binaries, which are named after the source model: "model_ctx" → "model".
std::string StemOf(const std::filesystem::path& context_model) {
  std::string stem = context_model.stem().string();
  if (stem.size() > 4 && stem.ends_with("_ctx")) stem.resize(stem.size() - 4);
  return stem;
}

ReadOptions MakeReadOptions(const BuildTools& tools, const ModelSource& source, const SourceFiles& files,
                            ContextGenerator* generator) {
  // Memory of a node, from its bytes to the first run: measured with a million of the smallest nodes.
  constexpr uint64_t kBytesPerNode = 1700;
  const SessionConfig& config = tools.config;
  ReadOptions read = files.MakeReadOptions(config, source.path, tools.pool, tools.progress.MakeProgressCallback());
  read.schemas = &tools.schemas;
  read.constant_initializers = config.constant_initializers;
  if (generator != nullptr) {
    read.accept_model = [generator, accept = std::move(read.accept_model)](std::string_view bytes,
                                                                           const Metadata& metadata) {
      accept(bytes, metadata);
      generator->SetAnnotations(std::make_shared<const GraphAnnotations>(ReadAnnotations(bytes)));
    };
  }
  read.max_nodes = config.max_nodes != 0 ? config.max_nodes : tools.environment.memory() / 4 * 3 / kBytesPerNode;
  return read;
}

}  // namespace

std::filesystem::path ContextBase(const SessionConfig& config, const ModelSource& source) {
  return source.path.empty() ? config.context.file_path : source.path;
}

ContextTarget TargetOf(const SessionConfig& config, const ModelSource& source) {
  ContextTarget target;
  target.model = config.context.file_path;
  if (target.model.empty() && !source.path.empty()) {
    target.model = source.path.parent_path() / (source.path.stem().string() + "_ctx.onnx");
  }
  target.binary_stem = StemOf(target.model);
  target.source_model_name = source.path.filename().string();
  target.external_initializers = config.context.external_initializers;
  target.node_name_prefix = config.context.node_name_prefix;
  target.embed = config.context.embed;
  target.overwrite = config.context.overwrite;
  target.store = config.context_store;
  if (!source.path.empty()) target.source_files = {source.path};
  target.RefuseSourceFile(target.model);
  return target;
}

SessionModel ReadSessionModel(const BuildTools& tools, const ModelSource& source, const SourceFiles& files,
                              ContextGenerator* generator) {
  Profiler::Span span(tools.profiler, "session", "read model");
  SessionModel read;
  if (!source.in_memory) {
    read.lock = std::make_unique<FolderLock>(source.path.parent_path(), FolderLock::kShared);
    read.model = ReadModelFile(source.path, MakeReadOptions(tools, source, files, generator));
    return read;
  }
  if (generator == nullptr && !tools.config.context.file_path.empty()) {
    const std::filesystem::path base = ContextBase(tools.config, source);
    read.lock = std::make_unique<FolderLock>(base.parent_path(), FolderLock::kShared);
  }
  read.model = ReadModelMemory(source.bytes, source.size, nullptr, MakeReadOptions(tools, source, files, generator));
  return read;
}

void ProtectSource(const SessionConfig& config, const ModelSource& source, const SourceFiles& files,
                   ContextGenerator* generator) {
  if (generator == nullptr) return;
  std::vector<std::filesystem::path> paths;
  if (!source.path.empty()) paths.push_back(source.path);
  std::filesystem::path folder = config.external_data_folder;
  if (folder.empty()) folder = source.path.parent_path();
  for (const std::string& name : files.external_files()) paths.push_back(folder / name);
  generator->SetSourceFiles(std::move(paths), files.used_files());
}

}  // namespace epiphyte::core
