// ContextCache: compiles a model on its first use and loads what was compiled ever after (session.context_cache_dir).
//
// A plain model is looked up by its key (cache_key.h). Is there an entry, the session is made from the context
// model in it. Else the model is compiled, as with ep.context_enable=1, and what came out becomes an entry; of several
// processes or threads that want the same, one compiles and the others wait for it. An entry that can't be loaded is
// compiled again and replaced, and so is one that somebody else may have written; a folder that others can write isn't
// used (cache_trust.h). Whatever happens to the cache, the session works: in the worst case uncached, with a
// warning in the log.
//
//   if (ContextCache::IsAskedFor(options)) {
//     ContextCache(catalog, options, &pool).Open(source, [&](const ModelSource&, const SessionOptions&, bool) { … });
//   }
//
// A model with EPContext nodes is opened as it is. The cache excludes ep.context_enable, ep.share_ep_contexts and a
// ContextStore: what these write is the application's to keep.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/thread_pool.h"
#include "core/cache/cache_folder.h"
#include "core/cache/cache_key.h"
#include "core/runtime/session.h"

namespace epiphyte::core {

class ContextCache {
 public:
  static bool IsAskedFor(const SessionOptions& options) { return !options.Get("session.context_cache_dir").empty(); }

  // Throws INVALID_ARGUMENT for options that exclude the cache. All arguments outlive it.
  ContextCache(Catalog& catalog, const SessionOptions& options, ThreadPool* pool);

  struct Opened {
    std::optional<ContextOutput> written;
    std::string failure;  // why no context model could be written, although the session is ready
  };
  // Makes the session. With `for_cache` the fallback provider's partitions become contexts too, and a context model
  // that can't be written is no error but a `failure`. Called again with something else after it has thrown.
  using OpenModel = std::function<Opened(const ModelSource& source, const SessionOptions& options, bool for_cache)>;

  // Throws what `open` throws for the model itself.
  void Open(const ModelSource& source, const OpenModel& open);

 private:
  SessionOptions WithoutCache() const;
  SessionOptions LoadingOptions() const;
  SessionOptions CompilingOptions(const std::filesystem::path& model) const;
  bool OpenEntry(const CacheKey& key, const OpenModel& open);
  bool OpenOrCompile(const CacheKey& key, const ModelSource& source, const OpenModel& open);
  void Compile(const CacheKey& key, const CacheFolder::Staging& staging, const ModelSource& source,
               const OpenModel& open);
  void Publish(const CacheKey& key, const CacheFolder::Staging& staging);
  void WarnUncached(std::string_view reason) const;

  Catalog& catalog_;
  const SessionOptions& options_;
  ThreadPool* pool_;
  CacheFolder folder_;
  CacheTrust trust_;
  uint64_t max_bytes_;
  std::string problem_;  // of an entry that is there but can't be loaded
};

}  // namespace epiphyte::core
