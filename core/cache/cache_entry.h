// Cache entry: one folder of the cache, with a context model, its payloads, and entry.json, which describes it.
//
//   model_ctx.onnx   model_cpu.bin …   entry.json   used
//
// entry.json holds the facts that make the key, size and digest of each file, and over all that a digest and a keyed
// digest (cache_trust.h). Nothing in the folder can change unnoticed or become the entry of another key. A session that
// opens the entry compares the context model. The context model has digests of the payloads, which are compared when
// they are loaded. The time of `used` is when a session last used the entry.
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

// An input that makes a difference to the compiled result. Only its digest is kept, because values may be secrets.
struct CacheFact {
  std::string name;    // one of a fixed set: "model", "option", …
  std::string digest;  // SHA-256 of the value, 64 hex digits
};

// The key of these facts, in their order: 64 hex digits.
std::string KeyOf(std::span<const CacheFact> facts);

struct CacheRecord {
  struct File {
    std::string name;
    uint64_t size = 0;
    std::string digest;  // digest by cache_digest.h
  };
  std::string key;
  std::string model;                   // name of the source model, for people
  std::vector<std::string> providers;  // "cpu 0.1.0" for each provider, for people
  int64_t created = 0;                 // seconds since 1970
  std::vector<CacheFact> facts;        // the facts that make the key
  std::vector<File> files;             // ordered by name
};

// Completes an entry: removes write access of group and others, lists the files of `folder`, and writes entry.json and
// `used` beside them. Throws FAIL.
void WriteCacheRecord(const std::filesystem::path& folder, CacheRecord record, CacheTrust* trust, ThreadPool* pool);

// For reports: the content of entry.json, without a check of its origin. Throws INVALID_GRAPH when it isn't in the form
// that WriteCacheRecord writes.
CacheRecord ReadCacheRecord(const std::filesystem::path& folder);

// Checks of a session before it opens the context model: who can have written the entry, its key, the sizes of all
// files, and the context model's digest. Payloads are compared with their digests when they are loaded. Throws
// INVALID_GRAPH, naming the problem.
CacheRecord CheckCacheEntry(const std::filesystem::path& folder, std::string_view key, const CacheTrust& trust,
                            ThreadPool* pool);

// Checks everything: the same as above, each file's digest, the context model's seal and the digests in it. Throws
// INVALID_GRAPH, and the errors of reading a model.
CacheRecord VerifyCacheEntry(const std::filesystem::path& folder, std::string_view key, const CacheTrust& trust,
                             ThreadPool* pool);

// Sets the time of `used` to now. If that isn't allowed, the entry stays as old as it was.
void TouchCacheEntry(const std::filesystem::path& folder);

}  // namespace epiphyte::core
