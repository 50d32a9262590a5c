#include "core/cache/context_cache.h"

#include <ctime>
#include <utility>

#include "core/base/error.h"
#include "core/base/folder_names.h"
#include "core/base/log.h"
#include "core/cache/cache_lock.h"

namespace epiphyte::core {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

void Exclude(bool asked, std::string_view what, std::string_view advice) {
  if (!asked) return;
  Fail(StatusCode::kInvalidArgument, "session.context_cache_dir is set together with {}; {}", what, advice);
}

// Identity of the folder that is at the path now.
std::optional<std::pair<uint64_t, int64_t>> IdentityOf(const std::filesystem::path& entry) {
  try {
    const FileStamp stamp = StampOf(entry / "entry.json");
    return std::pair(stamp.inode, stamp.changed_ns);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool Exists(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

uint64_t SizeOf(const std::filesystem::path& folder) {
  uint64_t size = 0;
  for (const std::string& name : NamesIn(folder).names) {
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(folder / name, error);
    if (!error) size += bytes;
  }
  return size;
}

}  // namespace

ContextCache::ContextCache(Catalog& catalog, const SessionConfig& config, ThreadPool* pool)
    : catalog_(catalog), config_(config), pool_(pool), folder_(config.cache.folder), trust_(folder_.path()) {
  Exclude(config.context.enable, "ep.context_enable=1",
          "set only one: the cache compiles by itself, ep.context_enable writes a context model of your own");
  Exclude(config.share.enable, "ep.share_ep_contexts=1",
          "set only one: sessions that share weights are compiled together with ep.context_enable");
  Exclude(config.context_store != nullptr, "a context store",
          "set only one: the cache writes files, the store keeps contexts elsewhere");
}

SessionConfig ContextCache::WithoutCache() const {
  SessionConfig config = config_;
  config.cache = {};
  return config;
}

SessionConfig ContextCache::LoadingConfig() const {
  SessionConfig config = WithoutCache();
  // These options describe the source model.
  config.context.file_path.clear();
  config.external_data_folder.clear();
  // The cache recompiles an entry if its provider prefers recompilation.
  config.context.refuse_suboptimal = true;
  return config;
}

SessionConfig ContextCache::CompilingConfig(const std::filesystem::path& model) const {
  SessionConfig config = WithoutCache();
  config.context.enable = true;
  config.context.for_cache = true;
  config.context.embed = false;
  config.context.file_path = model;
  config.context.external_initializers = kCacheWeightsName;
  config.context.overwrite = false;
  return config;
}

void ContextCache::WarnUncached(std::string_view reason) const {
  Log(LogLevel::kWarning, "cache", "the session works without the context cache '{}': {}", folder_.path().string(),
      reason);
}

Session ContextCache::Open(const ModelSource& source, const OpenModel& open) {
  std::optional<CacheKey> key;
  std::string reason = trust_.problem();
  if (reason.empty()) {
    try {
      key = MakeCacheKey(catalog_, source, config_, pool_);
    } catch (const Error& error) {
      reason = error.message();
    }
  }
  if (!key) {
    Session session = open(source, WithoutCache());
    // If the model is what can't be read, opening the session has thrown already.
    if (!reason.empty()) WarnUncached(reason);
    return session;
  }
  if (std::optional<Session> loaded = OpenEntry(*key, open)) return std::move(*loaded);
  if (std::optional<Session> compiled = OpenOrCompile(*key, source, open)) return std::move(*compiled);
  return open(source, WithoutCache());
}

std::optional<Session> ContextCache::OpenEntry(const CacheKey& key, const OpenModel& open) {
  const std::filesystem::path entry = folder_.EntryPath(key.digest);
  problem_.clear();
  if (!Exists(entry)) return std::nullopt;
  const auto identity = IdentityOf(entry);
  std::optional<Session> session;
  try {
    CheckCacheEntry(entry, key.digest, trust_, pool_);
    session.emplace(open({entry / kCacheModelName}, LoadingConfig()));
  } catch (const Error& error) {
    if (error.code() == StatusCode::kModelLoadCanceled) throw;
    // If the entry was removed or replaced while it was read, there is no problem with it.
    if (Exists(entry) && IdentityOf(entry) == identity) problem_ = error.message();
    return std::nullopt;
  }
  TouchCacheEntry(entry);
  Log(LogLevel::kInfo, "cache", "loaded '{}' from entry {}", key.model, key.digest.substr(0, 16));
  return session;
}

// Returns nothing when the cache can't be used; no session was opened then.
std::optional<Session> ContextCache::OpenOrCompile(const CacheKey& key, const ModelSource& source,
                                                   const OpenModel& open) {
  std::unique_ptr<CacheLock> lock;
  std::unique_ptr<CacheFolder::Staging> staging;
  const CacheLock::Waiting waiting = [&] {
    const bool cancel =
        config_.progress && config_.progress({SessionPhase::kWait, 0, 0, "another session compiles the same model"});
    if (cancel) Fail(StatusCode::kModelLoadCanceled, "waiting for another session's compilation was cancelled");
  };
  try {
    folder_.MakeWay(key.digest);
    trust_.JudgeAgain();
    if (!trust_.problem().empty()) {
      WarnUncached(trust_.problem());
      return std::nullopt;
    }
    lock = std::make_unique<CacheLock>(folder_.LockPath(key.digest), waiting);
    // Another process may have made or replaced the entry meanwhile.
    if (std::optional<Session> session = OpenEntry(key, open)) return session;
    staging = std::make_unique<CacheFolder::Staging>(folder_.path());
  } catch (const Error& error) {
    if (error.code() == StatusCode::kModelLoadCanceled) throw;
    WarnUncached(error.message());
    return std::nullopt;
  }
  if (!problem_.empty()) {
    Log(LogLevel::kWarning, "cache", "entry '{}' can't be used and is compiled again: {}",
        folder_.EntryPath(key.digest).string(), problem_);
  }
  return Compile(key, *staging, source, open);
}

Session ContextCache::Compile(const CacheKey& key, const CacheFolder::Staging& staging, const ModelSource& source,
                              const OpenModel& open) {
  Session session = open(source, CompilingConfig(staging.entry() / kCacheModelName));
  // The application must not see the output, which belongs to the cache.
  const std::optional<ContextOutput> written = session.TakeContextOutput();
  if (!session.context_failure().empty()) {
    WarnUncached(session.context_failure());
  } else if (!written || written->context_nodes == 0) {
    Log(LogLevel::kInfo, "cache", "no provider makes a context for any node of '{}', so nothing is cached", key.model);
  } else if (!key.StillFits()) {
    WarnUncached(fmt::format("'{}' changed while it was compiled", key.model));
  } else {
    Publish(key, staging);
  }
  return session;
}

void ContextCache::Publish(const CacheKey& key, const CacheFolder::Staging& staging) {
  try {
    const uint64_t size = SizeOf(staging.entry());
    if (config_.cache.max_bytes != 0 && size > config_.cache.max_bytes) {
      WarnUncached(fmt::format("the compiled '{}' has {} MB, session.context_cache_max_mb allows {}; raise it",
                               key.model, (size + kMegabyte - 1) / kMegabyte, config_.cache.max_bytes / kMegabyte));
      return;
    }
    CacheRecord record;
    record.key = key.digest;
    record.model = key.model;
    record.providers = key.providers;
    record.facts = key.facts;
    record.created = std::time(nullptr);
    WriteCacheRecord(staging.entry(), std::move(record), &trust_, pool_);
    folder_.Publish(staging, key.digest, /*replace=*/!problem_.empty());
  } catch (const Error& error) {
    WarnUncached(error.message());
    return;
  }
  try {
    folder_.Trim(config_.cache.max_bytes, key.digest);
  } catch (const Error& error) {
    Log(LogLevel::kWarning, "cache", "no room could be made in the context cache '{}': {}", folder_.path().string(),
        error.message());
  }
}

}  // namespace epiphyte::core
