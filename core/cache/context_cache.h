// ContextCache: compiles a model on its first use and loads the compiled result later (session.context_cache_dir).
//
// A plain model is looked up by its key (cache_key.h). If there is an entry, the session is made from the context model
// in it. Otherwise the model is compiled, as with ep.context_enable=1, and the output becomes an entry. Of several
// processes or threads that want the same model, one compiles and the others wait for it.
//
// An entry that can't be loaded, or that another user may have written, is compiled again and replaced. A folder that
// others can write isn't used (cache_trust.h). No problem of the cache stops the session: in the worst case it works
// uncached, with a warning in the log.
//
//   ContextCache cache(catalog, config, pool);
//   Session session = cache.Open(source, [&](const ModelSource& model, const SessionConfig& how) { … });
//
// A model with EPContext nodes is opened as it is. The cache excludes ep.context_enable, ep.share_ep_contexts and a
// ContextStore, because their output is the application's to keep.
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
  // Throws INVALID_ARGUMENT for a configuration that excludes the cache. All arguments must outlive it.
  ContextCache(Catalog& catalog, const SessionConfig& config, ThreadPool* pool);

  // Makes a session. After it has thrown, it may be called again with other arguments.
  using OpenModel = std::function<Session(const ModelSource& source, const SessionConfig& config)>;

  // Throws the errors of `open` for the model itself.
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
  std::string problem_;  // why the existing entry can't be loaded; "" when it can, or there is none
};

}  // namespace epiphyte::core
