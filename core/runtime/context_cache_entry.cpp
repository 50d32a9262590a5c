#include "core/runtime/context_cache_entry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/folder_names.h"
#include "core/base/hash.h"
#include "core/base/mapped_file.h"
#include "core/base/safe_path.h"
#include "core/base/small_file.h"
#include "core/base/staged_file.h"
#include "core/context/context_model.h"
#include "core/context/seal.h"
#include "core/onnx/model_reader.h"

namespace epiphyte::core {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kRecordName = "entry.json";
constexpr std::string_view kUsedName = "used";
constexpr int kRecordVersion = 1;
constexpr size_t kMaxRecordBytes = size_t{1} << 20;

std::string Dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string Digest(const Json& json) {
  const std::string text = Dump(json);
  return Xxh128(text.data(), text.size());
}

[[noreturn]] void Damaged(std::string_view what) {
  Fail(StatusCode::kInvalidGraph, "{} {}; it was changed after it was written", kRecordName, what);
}

CacheRecord Parse(const std::string& text) {
  // What is nested deeper is left out while parsing, because writing it again would recurse as deep.
  const auto flat = [](int depth, Json::parse_event_t, Json&) { return depth <= 3; };
  Json json = Json::parse(text, flat, false);
  if (!json.is_object()) Damaged("is no JSON object");
  // The digest doesn't cover how the text is laid out; comparing with the layout that is written does.
  if (Dump(json) != text) Damaged("is not laid out as it was written");
  const auto digest = json.find("digest");
  if (digest == json.end() || !digest->is_string()) Damaged("has no digest");
  const std::string expected = *digest;
  json.erase("digest");
  if (Digest(json) != expected) Damaged("doesn't fit its digest");
  CacheRecord record;
  try {
    if (json.at("version") != kRecordVersion) Damaged("has an unknown version");
    json.at("key").get_to(record.key);
    json.at("model").get_to(record.model);
    json.at("providers").get_to(record.providers);
    json.at("created").get_to(record.created);
    json.at("model_digest").get_to(record.model_digest);
    for (const Json& file : json.at("files")) record.files.push_back({file.at("name"), file.at("size")});
  } catch (const Json::exception& error) {
    Damaged(error.what());
  }
  return record;
}

std::vector<CacheRecord::File> FilesOf(const std::filesystem::path& folder) {
  std::vector<CacheRecord::File> files;
  const FolderNames found = NamesIn(folder);
  std::error_code error(found.error, std::generic_category());
  for (const std::string& name : found.names) {
    if (error) break;
    if (name == kRecordName || name == kUsedName) continue;
    files.push_back({name, std::filesystem::file_size(folder / name, error)});
  }
  if (error) Fail(StatusCode::kFail, "folder '{}' can't be read: {}", folder.string(), error.message());
  return files;
}

std::string DigestOfModel(const std::filesystem::path& folder) {
  const auto model = MappedFile::Open(folder / kCacheModelName);
  return model->Digest(nullptr);
}

void CheckDigest(const std::filesystem::path& folder, const std::string& name, uint64_t size,
                 const std::string& xxh128) {
  const auto file = MappedFile::Open(ResolveInside(folder, name, "cache entry"));
  if (file->size() != size) {
    Fail(StatusCode::kInvalidGraph, "'{}' has {} bytes, {} expected", name, file->size(), size);
  }
  if (const std::string found = file->Digest(nullptr); found != xxh128) {
    Fail(StatusCode::kInvalidGraph, "'{}' has digest {}, {} expected", name, found, xxh128);
  }
  file->ReleasePages();
}

}  // namespace

void WriteCacheRecord(const std::filesystem::path& folder, CacheRecord record) {
  Json json;
  json["version"] = kRecordVersion;
  json["key"] = record.key;
  json["model"] = record.model;
  json["providers"] = record.providers;
  json["created"] = record.created;
  json["model_digest"] = DigestOfModel(folder);
  json["files"] = Json::array();
  for (const CacheRecord::File& file : FilesOf(folder))
    json["files"].push_back({{"name", file.name}, {"size", file.size}});
  // Names may hold bytes that JSON can't: the digest is over what will be read.
  json = Json::parse(Dump(json));
  json["digest"] = Digest(json);
  const std::string text = Dump(json);
  StagedFile staged(folder / kRecordName);
  staged.Write(text.data(), text.size());
  staged.Commit(/*overwrite=*/true);
  TouchCacheEntry(folder);
}

CacheRecord ReadCacheRecord(const std::filesystem::path& folder) {
  std::string text;
  try {
    text = ReadSmallFile(folder / kRecordName, kMaxRecordBytes);
  } catch (const Error& error) {
    throw Error(StatusCode::kInvalidGraph, error.message());
  }
  return Parse(text);
}

CacheRecord CheckCacheEntry(const std::filesystem::path& folder, std::string_view key) {
  CacheRecord record = ReadCacheRecord(folder);
  if (record.key != key) {
    Fail(StatusCode::kInvalidGraph, "{} is of entry {}, {} expected", kRecordName, record.key.substr(0, 16),
         key.substr(0, 16));
  }
  try {
    std::map<std::string, uint64_t> found;
    for (const CacheRecord::File& file : FilesOf(folder)) found[file.name] = file.size;
    for (const CacheRecord::File& file : record.files) {
      const auto size = found.find(file.name);
      if (size == found.end()) Fail(StatusCode::kInvalidGraph, "'{}' is missing", file.name);
      if (size->second != file.size) {
        Fail(StatusCode::kInvalidGraph, "'{}' has {} bytes, {} expected", file.name, size->second, file.size);
      }
    }
    if (DigestOfModel(folder) != record.model_digest) {
      Fail(StatusCode::kInvalidGraph, "'{}' was changed after it was written", kCacheModelName);
    }
  } catch (const Error& error) {
    throw Error(StatusCode::kInvalidGraph, error.message());
  }
  return record;
}

CacheRecord VerifyCacheEntry(const std::filesystem::path& folder, std::string_view key) {
  CacheRecord record = CheckCacheEntry(folder, key);
  const std::filesystem::path path = folder / kCacheModelName;
  ReadOptions options;
  options.infer = false;
  const Model model = ReadModelFile(path, options);
  const auto file = MappedFile::Open(path);
  RequireSeal(file->data(), file->size(), model.metadata, fmt::format("'{}'", kCacheModelName));
  for (const PayloadRecord& payload : ReadPayloadRecords(model.metadata)) {
    if (!payload.file.empty()) CheckDigest(folder, payload.file, payload.size, payload.xxh128);
  }
  if (const auto weights = InitializersRecord::Read(model.metadata)) {
    CheckDigest(folder, weights->file, weights->size, weights->xxh128);
  }
  return record;
}

void TouchCacheEntry(const std::filesystem::path& folder) {
  const std::filesystem::path used = folder / kUsedName;
  if (utimensat(AT_FDCWD, used.c_str(), nullptr, 0) == 0) return;
  const int fd = open(used.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd >= 0) close(fd);
}

}  // namespace epiphyte::core
