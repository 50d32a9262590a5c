// Cache entry: one folder of the cache, with a context model, its payloads, and entry.json, which says what it is.
//
//   model_ctx.onnx   model_cpu.bin …   entry.json   used
//
// entry.json holds the key and the size of each file, and a digest over itself and over the context model, so that
// nothing in the folder can change unseen: payloads have their digests in the context model. The time of `used` is when
// a session last used the entry.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace epiphyte::core {

inline constexpr std::string_view kCacheModelName = "model_ctx.onnx";
inline constexpr std::string_view kCacheWeightsName = "model_weights.bin";

struct CacheRecord {
  struct File {
    std::string name;
    uint64_t size = 0;
  };
  std::string key;
  std::string model;                   // the source model's name, for people
  std::vector<std::string> providers;  // "cpu 0.1.0", for people
  int64_t created = 0;                 // seconds since 1970
  std::vector<File> files;             // by name
  std::string model_digest;            // XXH3-128 of the context model
};

// Lists the files of `folder`, and writes entry.json and `used` beside them. Throws FAIL.
void WriteCacheRecord(const std::filesystem::path& folder, CacheRecord record);

// Throws INVALID_GRAPH when entry.json isn't what WriteCacheRecord wrote.
CacheRecord ReadCacheRecord(const std::filesystem::path& folder);

// What a session checks before it opens the context model: the key, the sizes of all files, the context model's digest.
// Payloads are compared with their digests when they are loaded. Throws INVALID_GRAPH, naming what is wrong.
CacheRecord CheckCacheEntry(const std::filesystem::path& folder, std::string_view key);

// Everything: as above, and the seal, and each payload's and the weights' digest. Throws INVALID_GRAPH and what reading
// a model throws.
CacheRecord VerifyCacheEntry(const std::filesystem::path& folder, std::string_view key);

// `used` gets the time of now; where that isn't allowed the entry stays as old as it was.
void TouchCacheEntry(const std::filesystem::path& folder);

}  // namespace epiphyte::core
