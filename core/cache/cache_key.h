// Cache key: the identity of a compiled model. Two sessions have the same key only if compiling would give both the
// same result. It is a SHA-256 over the model's bytes, the bytes of the files it refers to, the session options, the
// providers in order with their options, their plugins' libraries, devices and drivers, the thread count, and the host.
//
// Names and times of files are not part of it, so a model that moves is still found.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/cache/cache_digest.h"
#include "core/cache/cache_entry.h"
#include "core/registry/catalog.h"
#include "core/runtime/session_config.h"
#include "core/runtime/session_parts.h"

namespace epiphyte::core {

struct CacheKey {
  std::string digest;  // 64 hex digits: KeyOf(facts)
  std::vector<CacheFact> facts;
  std::string model;                   // for people: the file's name, "" when it came from memory
  std::vector<std::string> providers;  // for people: "cpu 0.1.0", in order

  // Whether the files that the key was made from are unchanged. A result compiled from changed files must not be stored
  // under this key.
  bool StillFits() const;

  std::vector<std::pair<std::filesystem::path, FileStamp>> files;
};

// Returns nothing for a model that has EPContext nodes already. Throws when an input of the key can't be read: a key
// without it would be another key. For an unreadable model, the session fails with a better message. For an unreadable
// library, the session works uncached.
std::optional<CacheKey> MakeCacheKey(Catalog& catalog, const ModelSource& source, const SessionConfig& config,
                                     ThreadPool* pool);

}  // namespace epiphyte::core
