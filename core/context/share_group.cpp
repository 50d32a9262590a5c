#include "core/context/share_group.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mapped_file.h"

namespace epiphyte::core {
namespace {

std::string IdentityOf(const std::filesystem::path& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return path.string();
  return fmt::format("{}\n{} {} {} {}.{:09}", path.string(), info.st_dev, info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace

ContextBlob ShareGroup::OpenFile(const std::filesystem::path& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string identity = IdentityOf(path);
  const auto found = files_.find(identity);
  if (found != files_.end()) return found->second.blob;
  const auto file = MappedFile::Open(path);
  ContextBlob blob{file->data(), file->size(), file, file};
  files_[identity].blob = blob;
  return blob;
}

std::string ShareGroup::DigestOf(const ContextBlob& blob, ThreadPool* pool, const ProgressCallback& on_progress) {
  const auto find = [&] {
    return std::find_if(files_.begin(), files_.end(), [&](const auto& known) {
      return known.second.blob.data == blob.data && known.second.blob.size == blob.size;
    });
  };
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = find();
    if (found != files_.end() && !found->second.xxh128.empty()) {
      blob.file->RequireIntact();
      return found->second.xxh128;
    }
  }
  // The lock is not held here: on_progress reaches the application, which may use this group meanwhile.
  std::string digest =
      blob.file ? blob.file->Digest(pool, on_progress) : Xxh128OfMapping(blob.data, blob.size, pool, on_progress);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = find(); found != files_.end()) found->second.xxh128 = digest;
  return digest;
}

ShareGroup::Stored* ShareGroup::FindEntry(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record) {
  const auto found = std::find_if(stored_.begin(), stored_.end(), [&](const Stored& entry) {
    return entry.store.lock() == store && entry.record.file == record.file && entry.record.size == record.size &&
           entry.record.xxh128 == record.xxh128;
  });
  return found == stored_.end() ? nullptr : &*found;
}

ContextBlob ShareGroup::FindStored(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record,
                                   bool verified) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Stored* entry = FindEntry(store, record);
  return entry != nullptr && (entry->verified || !verified) ? entry->blob : ContextBlob();
}

ContextBlob ShareGroup::KeepStored(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record,
                                   bool verified, const ContextBlob& blob) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Stored* entry = FindEntry(store, record);
  if (entry == nullptr) entry = &stored_.emplace_back(Stored{store, record, false, {}});
  if (entry->blob.data == nullptr || (verified && !entry->verified)) {
    entry->blob = blob;
    entry->verified = verified;
  }
  return entry->blob;
}

ContextBlob ShareGroup::Unify(const ContextBlob& blob, const std::function<ContextBlob()>& make_own) {
  const std::lock_guard<std::mutex> lock(unified_mutex_);
  for (const ContextBlob& known : unified_) {
    if (known.size != blob.size) continue;
    if (known.data == blob.data || std::memcmp(known.data, blob.data, blob.size) == 0) return known;
  }
  unified_.push_back(make_own());
  return unified_.back();
}

std::shared_ptr<ShareGroup> ShareGroups::ForLoading(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(loading_, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<ShareGroup>& entry = loading_[name];
  std::shared_ptr<ShareGroup> group = entry.lock();
  if (!group) entry = group = std::make_shared<ShareGroup>(name);
  return group;
}

std::shared_ptr<ShareGroups::Compiling> ShareGroups::ForCompiling(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Compiling>& entry = compiling_[name];
  if (!entry) {
    entry = std::make_shared<Compiling>();
    entry->group = std::make_shared<ShareGroup>(name);
  }
  return entry;
}

void ShareGroups::EndCompiling(const std::string& name, const std::shared_ptr<Compiling>& which) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = compiling_.find(name);
  if (found != compiling_.end() && found->second == which) compiling_.erase(found);
}

}  // namespace epiphyte::core
