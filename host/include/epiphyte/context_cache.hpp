// Context cache: the compiled contexts in the folder of session.context_cache_dir.
//
//   options.Set("session.context_cache_dir", dir);            // the first session compiles, later ones load
//   for (const epiphyte::CacheEntry& entry : epiphyte::ListCache(dir)) std::cout << entry.model << '\n';
//   epiphyte::CollectCache(dir, 1 << 30);                     // keeps at most 1 GiB
//
// The functions are safe while sessions and other processes use the same folder: a session keeps the files that it has
// opened. Only the cache's own files in the folder are touched.
//
// Cached code is executed, so sessions trust an entry only if no other user can have written it. The folder, its
// parents and its content must belong to root or to the process's user and must not be writable by group or others. A
// parent may be sticky, as /tmp is. Each entry carries a digest keyed with DIR/secret; a session creates the secret on
// first use, and only its owner can read it. An entry that fails the check is compiled again. If the folder fails it,
// sessions work uncached. Both log a warning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "epiphyte/export.hpp"

namespace epiphyte {

struct CacheEntry {
  std::string key;  // 64 hex digits
  std::filesystem::path folder;
  std::string model;                   // name of the source model's file; "" for a model from memory
  std::vector<std::string> providers;  // "cpu 0.1.0", in order of priority
  uint64_t size = 0;                   // bytes of all files
  int64_t created = 0;                 // seconds since 1970
  int64_t last_used = 0;               // seconds since 1970
  std::string problem;                 // why a session would compile the model again, one line; "" if none
};

// Lists the entries, sorted by key. It checks names, sizes and the context models, but not the payloads. A folder that
// doesn't exist has no entries. Throws FAIL when the folder can't be read. [any thread]
EPIPHYTE_API std::vector<CacheEntry> ListCache(const std::filesystem::path& folder);

// Returns in one line why sessions don't use the folder and what to do. Returns "" when they use it, or would use it if
// it existed. [any thread]
EPIPHYTE_API std::string CacheProblem(const std::filesystem::path& folder);

// Lists the entries as ListCache does and also compares all bytes with their digests. [any thread]
EPIPHYTE_API std::vector<CacheEntry> VerifyCache(const std::filesystem::path& folder);

struct CacheRemoval {
  std::vector<CacheEntry> broken;
  std::vector<CacheEntry> evicted;  // least recently used entries
  uint64_t leftovers = 0;           // left by processes that ended while they made an entry
};

// Removes the entries that VerifyCache finds broken and the leftovers of ended processes. Then removes the least
// recently used entries until the rest has at most `max_bytes` (0: no limit). Throws FAIL when a file can't be removed.
// [any thread]
EPIPHYTE_API CacheRemoval CollectCache(const std::filesystem::path& folder, uint64_t max_bytes);

}  // namespace epiphyte
