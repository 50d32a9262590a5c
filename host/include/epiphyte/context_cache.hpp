// Context cache: what session.context_cache_dir has gathered in a folder.
//
//   options.Set("session.context_cache_dir", dir);            // a session compiles once, and loads from then on
//   for (const epiphyte::CacheEntry& entry : epiphyte::ListCache(dir)) std::cout << entry.model << '\n';
//   epiphyte::CollectCache(dir, 1 << 30);                     // at most 1 GiB stays
//
// Safe beside sessions and other processes that use the same folder: a session keeps what it has opened. Nothing in the
// folder but the cache's own files is touched.
//
// What is in a cache runs, so sessions believe it only when nobody else can have put it there: the folder, what is
// above it and everything in it belong to root or to the process's user and can't be written by group or others (a
// folder above may be sticky, as /tmp is), and each entry carries a digest keyed with DIR/secret, which a session makes
// on first use and only its owner can read. An entry that doesn't pass is compiled again; with a folder that doesn't,
// sessions work uncached. Both with a warning in the log.
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
  std::string model;                   // name of the source model's file; "" when it came from memory
  std::vector<std::string> providers;  // "cpu 0.1.0", in order of priority
  uint64_t size = 0;                   // of all files, in bytes
  int64_t created = 0;                 // seconds since 1970
  int64_t last_used = 0;               // seconds since 1970
  std::string problem;                 // why a session would compile it again, one line; "" when nothing is wrong
};

// By key. Looks at names, sizes and the context models; payloads are trusted. A folder that doesn't exist has no
// entries. Throws FAIL when it can't be read. [any thread]
EPIPHYTE_API std::vector<CacheEntry> ListCache(const std::filesystem::path& folder);

// Why sessions don't use the folder at all, one line with what to do; "" when they do, or would when it existed.
// [any thread]
EPIPHYTE_API std::string CacheProblem(const std::filesystem::path& folder);

// As ListCache, and compares every byte with its digest. [any thread]
EPIPHYTE_API std::vector<CacheEntry> VerifyCache(const std::filesystem::path& folder);

struct CacheRemoval {
  std::vector<CacheEntry> broken;
  std::vector<CacheEntry> evicted;  // not used for longest
  uint64_t leftovers = 0;           // of processes that ended while they made an entry
};

// Removes what VerifyCache finds broken, what ended processes left behind, and the entries that were not used for
// longest until the others have at most `max_bytes` (0: no limit). Throws FAIL when something can't be removed.
// [any thread]
EPIPHYTE_API CacheRemoval CollectCache(const std::filesystem::path& folder, uint64_t max_bytes);

}  // namespace epiphyte
