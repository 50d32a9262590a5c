#include "core/runtime/source_files.h"

#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/context/context_model.h"
#include "core/context/context_store.h"
#include "core/context/seal.h"

namespace epiphyte::core {
namespace {

// Below this the memory isn't worth the system calls.
constexpr uint64_t kLargeFile = uint64_t{32} << 20;

ExternalFile OpenInStore(const std::shared_ptr<ContextStore>& store, const std::string& name) {
  ContextStore::Bytes bytes;
  try {
    bytes = store->Open(name);
  } catch (const Error& error) {
    Fail(StatusCode::kInvalidGraph, "initializers '{}' can't be had from the context store: {}", name, error.message());
  }
  if (!bytes.owner) bytes.owner = store;
  return {static_cast<const uint8_t*>(bytes.data), bytes.size, std::move(bytes.owner)};
}

void RequireRecorded(const InitializersRecord& record, const ExternalFile& file, bool verify, ThreadPool* pool,
                     const Pulse& pulse) {
  if (file.size != record.size) {
    Fail(StatusCode::kInvalidGraph,
         "initializers file '{}' has {} bytes, but the context model was written with {}; the file was replaced or "
         "cut off: restore it or compile the model again",
         record.file, file.size, record.size);
  }
  if (!verify) return;
  const std::string digest =
      file.mapping ? file.mapping->Digest(pool, pulse) : Xxh128OfMapping(file.data, file.size, pool, pulse);
  if (digest != record.xxh128) {
    Fail(StatusCode::kInvalidGraph,
         "initializers file '{}' has digest {}, but the context model was written with {}; the file was replaced or "
         "damaged: restore it or compile the model again",
         record.file, digest, record.xxh128);
  }
}

}  // namespace

ReadOptions SourceFiles::MakeReadOptions(const SessionConfig& config, const std::filesystem::path& path,
                                         ThreadPool* pool, const Pulse& pulse) const {
  ReadOptions read;
  read.pulse = pulse;
  read.external_data_folder = config.external_data_folder;
  read.keep_function = [](const Node&) { return true; };  // functions are inlined when it is known who claims them

  const bool verify = config.context.verify_digests;
  auto record = std::make_shared<std::optional<InitializersRecord>>();
  const std::string what =
      path.empty() ? std::string("the context model") : fmt::format("context model '{}'", path.string());
  read.accept_model = [=, found = found_](std::string_view bytes, const std::map<std::string, std::string>& metadata) {
    *record = InitializersRecord::Read(metadata);
    if (!verify) return;
    RequireSeal(bytes.data(), bytes.size(), metadata, what, pulse);
    found->seal_checked = SizeWithoutSeal(bytes.data(), bytes.size()) != bytes.size();
  };
  const auto is_recorded = [record](const std::string& name) { return *record && (*record)->file == name; };
  read.open_external = [=, store = config.context_store](const std::string& name) -> ExternalFile {
    if (!store || !is_recorded(name)) return {};
    return OpenInStore(store, name);
  };
  read.on_model_mapped = [found = found_](std::shared_ptr<const MappedFile> file) {
    found->used.Add(*file);
    if (file->size() >= kLargeFile) found->large.push_back(std::move(file));
  };
  read.accept_external = [=, found = found_](const std::string& name, const ExternalFile& file) {
    found->external_files.push_back(name);
    if (file.mapping) found->used.Add(*file.mapping);
    if (file.mapping && file.size >= kLargeFile) found->large.push_back(file.mapping);
    if (is_recorded(name)) RequireRecorded(**record, file, verify, pool, pulse);
  };
  return read;
}

ProgressFunction SourceFiles::ReleasePagesOn(ProgressFunction progress) const {
  if (found_->large.empty()) return progress;
  return [found = found_, report = std::move(progress)](uint64_t done, uint64_t total, const std::string& text) {
    for (const auto& file : found->large) file->ReleasePages();
    return report && report(done, total, text);
  };
}

}  // namespace epiphyte::core
