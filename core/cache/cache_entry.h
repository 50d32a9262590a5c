// Cache entry: one folder of the cache, with a context model, its payloads, and entry.json, which says what it is.
//
//   model_ctx.onnx   model_cpu.bin …   entry.json   used
//
// entry.json holds the facts that the key is made of, size and digest of each file, and over all that a digest and a
// keyed one (cache_trust.h): nothing in the folder can change unseen, nor become the entry of another key. A
// session that opens the entry compares the context model; payloads have digests in there, which are compared when they
// are loaded. The time of `used` is when a session last used the entry.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/cache/cache_trust.h"

namespace epiphyte::core {

inline constexpr std::string_view kCacheModelName = "model_ctx.onnx";
inline constexpr std::string_view kCacheWeightsName = "model_weights.bin";

// Something that makes a difference to what is compiled. Only its digest is kept: values may be secrets.
struct CacheFact {
  std::string name;    // of a fixed set: "model", "option", …
  std::string digest;  // SHA-256 of the value, 64 hex digits
};

// The key that facts make, in their order: 64 hex digits.
std::string KeyOf(std::span<const CacheFact> facts);

struct CacheRecord {
  struct File {
    std::string name;
    uint64_t size = 0;
    std::string digest;  // see cache_digest.h
  };
  std::string key;
  std::string model;                   // the source model's name, for people
  std::vector<std::string> providers;  // "cpu 0.1.0", for people
  int64_t created = 0;                 // seconds since 1970
  std::vector<CacheFact> facts;        // what the key is made of
  std::vector<File> files;             // by name
};

// Takes the right to write them from group and others, lists the files of `folder`, and writes entry.json and `used`
// beside them. Throws FAIL.
void WriteCacheRecord(const std::filesystem::path& folder, CacheRecord record, CacheTrust* trust, ThreadPool* pool);

// For reports: what entry.json says, whoever wrote it. Throws INVALID_GRAPH when it isn't what WriteCacheRecord writes.
CacheRecord ReadCacheRecord(const std::filesystem::path& folder);

// What a session checks before it opens the context model: who can have written the entry, its key, the sizes of all
// files, the context model's digest. Payloads are compared with their digests when they are loaded. Throws
// INVALID_GRAPH, naming what is wrong.
CacheRecord CheckCacheEntry(const std::filesystem::path& folder, std::string_view key, const CacheTrust& trust,
                            ThreadPool* pool);

// Everything: as above, and each file's digest, the context model's seal and the digests in it. Throws INVALID_GRAPH
// and what reading a model throws.
CacheRecord VerifyCacheEntry(const std::filesystem::path& folder, std::string_view key, const CacheTrust& trust,
                             ThreadPool* pool);

// `used` gets the time of now; where that isn't allowed the entry stays as old as it was.
void TouchCacheEntry(const std::filesystem::path& folder);

}  // namespace epiphyte::core
