#include "epiphyte/context_cache.hpp"

#include "core/cache/cache_folder.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

std::vector<CacheEntry> Convert(const std::vector<core::CacheFolder::Entry>& entries) {
  std::vector<CacheEntry> converted;
  for (const core::CacheFolder::Entry& entry : entries) {
    converted.push_back({entry.key, entry.path, entry.record.model, entry.record.providers, entry.size,
                         entry.record.created, entry.last_used, entry.problem});
  }
  return converted;
}

}  // namespace

std::vector<CacheEntry> ListCache(const std::filesystem::path& folder) {
  return WithPublicErrors([&] { return Convert(core::CacheFolder(folder).List(/*verify=*/false)); });
}

std::string CacheProblem(const std::filesystem::path& folder) {
  return WithPublicErrors([&] { return core::CacheTrust(core::CacheFolder(folder).path()).problem(); });
}

std::vector<CacheEntry> VerifyCache(const std::filesystem::path& folder) {
  return WithPublicErrors([&] { return Convert(core::CacheFolder(folder).List(/*verify=*/true)); });
}

CacheRemoval CollectCache(const std::filesystem::path& folder, uint64_t max_bytes) {
  return WithPublicErrors([&] {
    const core::CacheFolder::Removed removed = core::CacheFolder(folder).Collect(max_bytes);
    return CacheRemoval{Convert(removed.broken), Convert(removed.evicted), removed.leftovers};
  });
}

}  // namespace epiphyte
