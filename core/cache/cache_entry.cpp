#include "core/cache/cache_entry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/folder_names.h"
#include "core/base/hash.h"
#include "core/base/small_file.h"
#include "core/base/staged_file.h"
#include "core/cache/cache_digest.h"
#include "core/context/node_payloads.h"
#include "core/context/recorded_bytes.h"
#include "core/onnx/model_reader.h"

namespace epiphyte::core {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kRecordName = "entry.json";
constexpr std::string_view kUsedName = "used";
constexpr int kRecordVersion = 2;
constexpr size_t kMaxRecordBytes = size_t{1} << 20;

std::string Dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string Digest(const Json& json) {
  const std::string text = Dump(json);
  return Sha256(text.data(), text.size());
}

[[noreturn]] void Damaged(std::string_view what) {
  Fail(StatusCode::kInvalidGraph, "{} {}; it was changed after it was written", kRecordName, what);
}

struct ParsedRecord {
  CacheRecord record;
  std::string sealed;  // text that the keyed digest is over
  std::string seal;
};

// Removes a text from the object and returns it.
std::string Take(Json* json, const char* name) {
  const auto found = json->find(name);
  if (found == json->end() || !found->is_string()) Damaged(fmt::format("has no {}", name));
  std::string text = *found;
  json->erase(name);
  return text;
}

ParsedRecord Parse(const std::string& text) {
  // Deeper nesting is left out while parsing, because writing it again would recurse as deep.
  const auto flat = [](int depth, Json::parse_event_t, Json&) { return depth <= 3; };
  Json json = Json::parse(text, flat, false);
  if (!json.is_object()) Damaged("is no JSON object");
  // The digest doesn't cover the layout of the text, so the text is compared with the layout that is written.
  if (Dump(json) != text) Damaged("is not laid out as it was written");
  if (const auto version = json.find("version"); version != json.end() && *version != kRecordVersion) {
    Fail(StatusCode::kInvalidGraph, "{} has version {}, {} expected", kRecordName, version->dump(), kRecordVersion);
  }
  ParsedRecord parsed;
  parsed.seal = Take(&json, "seal");
  const std::string expected = Take(&json, "digest");
  if (Digest(json) != expected) Damaged("doesn't fit its digest");
  parsed.sealed = Dump(json);
  CacheRecord& record = parsed.record;
  try {
    json.at("key").get_to(record.key);
    json.at("model").get_to(record.model);
    json.at("providers").get_to(record.providers);
    json.at("created").get_to(record.created);
    for (const Json& fact : json.at("facts")) record.facts.push_back({fact.at("name"), fact.at("digest")});
    for (const Json& file : json.at("files")) {
      record.files.push_back({file.at("name"), file.at("size"), file.at("digest")});
    }
  } catch (const Json::exception& error) {
    Damaged(error.what());
  }
  if (KeyOf(record.facts) != record.key) Damaged("has a key that its facts don't make");
  return parsed;
}

ParsedRecord ReadRecord(const std::filesystem::path& folder) {
  std::string text;
  try {
    text = ReadSmallFile(folder / kRecordName, kMaxRecordBytes);
  } catch (const Error& error) {
    throw Error(StatusCode::kInvalidGraph, error.message());
  }
  return Parse(text);
}

std::vector<CacheRecord::File> FilesOf(const std::filesystem::path& folder) {
  std::vector<CacheRecord::File> files;
  const FolderNames found = NamesIn(folder);
  std::error_code error(found.error, std::generic_category());
  for (const std::string& name : found.names) {
    if (error) break;
    if (name == kRecordName || name == kUsedName) continue;
    files.push_back({name, std::filesystem::file_size(folder / name, error), ""});
  }
  if (error) Fail(StatusCode::kFail, "folder '{}' can't be read: {}", folder.string(), error.message());
  return files;
}

// Removes write access of group and others, whatever the process's umask gives.
void Protect(const std::filesystem::path& file) {
  using std::filesystem::perms;
  std::error_code error;
  std::filesystem::permissions(file, perms::group_write | perms::others_write, std::filesystem::perm_options::remove,
                               error);
  if (error) Fail(StatusCode::kFail, "'{}' can't be protected: {}", file.string(), error.message());
}

void TakeDigests(const std::filesystem::path& folder, std::vector<CacheRecord::File>* files, ThreadPool* pool) {
  std::vector<DigestSource> sources;
  for (const CacheRecord::File& file : *files) sources.push_back({folder / file.name, {}, file.size});
  const std::vector<std::string> digests = DigestAll(sources, pool);
  for (size_t i = 0; i < files->size(); ++i) (*files)[i].digest = digests[i];
}

// Throws INVALID_GRAPH when a file's bytes differ from its record.
void CompareDigests(const std::filesystem::path& folder, std::vector<CacheRecord::File> files, ThreadPool* pool) {
  std::vector<CacheRecord::File> found = files;
  TakeDigests(folder, &found, pool);
  for (size_t i = 0; i < files.size(); ++i) {
    if (found[i].digest == files[i].digest) continue;
    Fail(StatusCode::kInvalidGraph, "'{}' was changed after it was written", files[i].name);
  }
}

}  // namespace

std::string KeyOf(std::span<const CacheFact> facts) {
  Sha256Stream stream;
  for (const CacheFact& fact : facts) {
    const std::string line = fmt::format("{}:{}={}:{}\n", fact.name.size(), fact.name, fact.digest.size(), fact.digest);
    stream.Update(line.data(), line.size());
  }
  return stream.Finish();
}

void WriteCacheRecord(const std::filesystem::path& folder, CacheRecord record, CacheTrust* trust, ThreadPool* pool) {
  record.files = FilesOf(folder);
  for (const CacheRecord::File& file : record.files) Protect(folder / file.name);
  TakeDigests(folder, &record.files, pool);
  Json json;
  json["version"] = kRecordVersion;
  json["key"] = record.key;
  json["model"] = record.model;
  json["providers"] = record.providers;
  json["created"] = record.created;
  json["facts"] = Json::array();
  for (const CacheFact& fact : record.facts) json["facts"].push_back({{"name", fact.name}, {"digest", fact.digest}});
  json["files"] = Json::array();
  for (const CacheRecord::File& file : record.files) {
    json["files"].push_back({{"name", file.name}, {"size", file.size}, {"digest", file.digest}});
  }
  // Names may hold bytes that JSON can't, so the digests are over the text as it will be read.
  json = Json::parse(Dump(json));
  const std::string seal = trust->Seal(Dump(json));
  json["digest"] = Digest(json);
  json["seal"] = seal;
  const std::string text = Dump(json);
  StagedFile staged(folder / kRecordName);
  staged.Write(text.data(), text.size());
  staged.Commit(/*overwrite=*/true);
  TouchCacheEntry(folder);
  for (const std::string_view name : {kRecordName, kUsedName}) Protect(folder / name);
}

CacheRecord ReadCacheRecord(const std::filesystem::path& folder) { return ReadRecord(folder).record; }

CacheRecord CheckCacheEntry(const std::filesystem::path& folder, std::string_view key, const CacheTrust& trust,
                            ThreadPool* pool) {
  trust.CheckFiles(folder);
  ParsedRecord parsed = ReadRecord(folder);
  trust.CheckSeal(parsed.sealed, parsed.seal);
  CacheRecord& record = parsed.record;
  if (record.key != key) {
    Fail(StatusCode::kInvalidGraph, "{} is of entry {}, {} expected", kRecordName, record.key.substr(0, 16),
         key.substr(0, 16));
  }
  try {
    std::map<std::string, uint64_t> found;
    for (const CacheRecord::File& file : FilesOf(folder)) found[file.name] = file.size;
    std::vector<CacheRecord::File> model;
    for (const CacheRecord::File& file : record.files) {
      const auto size = found.find(file.name);
      if (size == found.end()) Fail(StatusCode::kInvalidGraph, "'{}' is missing", file.name);
      if (size->second != file.size) {
        Fail(StatusCode::kInvalidGraph, "'{}' has {} bytes, {} expected", file.name, size->second, file.size);
      }
      if (file.name == kCacheModelName) model.push_back(file);
    }
    if (model.empty()) Fail(StatusCode::kInvalidGraph, "{} doesn't name '{}'", kRecordName, kCacheModelName);
    CompareDigests(folder, std::move(model), pool);
  } catch (const Error& error) {
    throw Error(StatusCode::kInvalidGraph, error.message());
  }
  return std::move(parsed.record);
}

CacheRecord VerifyCacheEntry(const std::filesystem::path& folder, std::string_view key, const CacheTrust& trust,
                             ThreadPool* pool) {
  CacheRecord record = CheckCacheEntry(folder, key, trust, pool);
  CompareDigests(folder, record.files, pool);
  const std::filesystem::path path = folder / kCacheModelName;
  ReadOptions options = CheckedReading({.what = fmt::format("'{}'", kCacheModelName), .pool = pool});
  options.infer = false;
  const Model model = ReadModelFile(path, options);
  const NodePayloads payloads({.model = path, .pool = pool}, model.metadata);
  for (const PayloadRecord& recorded : payloads.records()) {
    if (recorded.file.empty()) continue;
    const NodePayload payload = payloads.OpenRecorded(recorded);
    if (!payload.problem.empty()) throw Error(payload.code, payload.problem);
    payload.blob.file->ReleasePages();
  }
  return record;
}

void TouchCacheEntry(const std::filesystem::path& folder) {
  const std::filesystem::path used = folder / kUsedName;
  if (utimensat(AT_FDCWD, used.c_str(), nullptr, 0) == 0) return;
  const int fd = open(used.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd >= 0) close(fd);
}

}  // namespace epiphyte::core
