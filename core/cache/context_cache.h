// ContextCache: compiles a model on its first use and loads what was compiled ever after (session.context_cache_dir).
//
// A plain model is looked up by its key (cache_key.h). Is there an entry, the session is made from the context
// model in it. Else the model is compiled, as with ep.context_enable=1, and what came out becomes an entry; of several
// processes or threads that want the same, one compiles and the others wait for it. An entry that can't be loaded is
// compiled again and replaced, and so is one that somebody else may have written; a folder that others can write isn't
// used (cache_trust.h). Whatever happens to the cache, the session works: in the worst case uncached, with a
// warning in the log.
//
//   ContextCache cache(catalog, config, pool);
//   Session session = cache.Open(source, [&](const ModelSource& model, const SessionConfig& how) { … });
//
// A model with EPContext nodes is opened as it is. The cache excludes ep.context_enable, ep.share_ep_contexts and a
// ContextStore: what these write is the application's to keep.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/thread_pool.h"
#include "core/cache/cache_folder.h"
#include "core/cache/cache_key.h"
#include "core/runtime/session.h"

namespace epiphyte::core {

class ContextCache {
 public:
  // Throws INVALID_ARGUMENT for a configuration that excludes the cache. All arguments outlive it.
  ContextCache(Catalog& catalog, const SessionConfig& config, ThreadPool* pool);

  // Makes a session. Called again with something else after it has thrown.
  using OpenModel = std::function<Session(const ModelSource& source, const SessionConfig& config)>;

  // Throws what `open` throws for the model itself.
  Session Open(const ModelSource& source, const OpenModel& open);

 private:
  SessionConfig WithoutCache() const;
  SessionConfig LoadingConfig() const;
  SessionConfig CompilingConfig(const std::filesystem::path& model) const;
  std::optional<Session> OpenEntry(const CacheKey& key, const OpenModel& open);
  std::optional<Session> OpenOrCompile(const CacheKey& key, const ModelSource& source, const OpenModel& open);
  Session Compile(const CacheKey& key, const CacheFolder::Staging& staging, const ModelSource& source,
                  const OpenModel& open);
  void Publish(const CacheKey& key, const CacheFolder::Staging& staging);
  void WarnUncached(std::string_view reason) const;

  Catalog& catalog_;
  const SessionConfig& config_;
  ThreadPool* pool_;
  CacheFolder folder_;
  CacheTrust trust_;
  std::string problem_;  // of an entry that is there but can't be loaded
};

}  // namespace epiphyte::core
