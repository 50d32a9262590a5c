#include "core/cache/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <random>
#include <system_error>

#include "core/base/error.h"
#include "core/base/folder_names.h"
#include "core/base/staged_file.h"
#include "core/cache/cache_access.h"
#include "core/cache/cache_lock.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStagingPrefix = "tmp-";
constexpr size_t kKeyDigits = 64;
constexpr size_t kStagingDigits = 16;
constexpr int64_t kStagingMaxSeconds = 24 * 60 * 60;

bool IsHex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsKey(std::string_view name) { return name.size() == kKeyDigits && IsHex(name); }

// Whether the name is one of a staging folder, such as "tmp-4711-0123456789abcdef".
bool IsStaging(std::string_view name) {
  if (!name.starts_with(kStagingPrefix)) return false;
  name.remove_prefix(kStagingPrefix.size());
  const size_t dash = std::min(name.find('-'), name.size());
  const std::string_view process = name.substr(0, dash), number = name.substr(std::min(dash + 1, name.size()));
  return !process.empty() && process.find_first_not_of("0123456789") == std::string_view::npos &&
         number.size() == kStagingDigits && IsHex(number);
}

std::string NewStagingName() {
  std::random_device random;
  return fmt::format("{}{}-{:08x}{:08x}", kStagingPrefix, getpid(), random(), random());
}

// Whether the path is a folder; a symbolic link is not.
bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

// Names in the folder; empty when the folder is gone.
std::vector<std::string> EntriesOf(const fs::path& folder) {
  FolderNames found = NamesIn(folder);
  if (found.error != 0 && found.error != ENOENT) {
    Fail(StatusCode::kFail, "folder '{}' can't be read: {}", folder.string(), AccessReason(folder, found.error));
  }
  return std::move(found.names);
}

struct Contents {
  uint64_t size = 0;
  int64_t newest = 0;
};

Contents ContentsOf(const fs::path& folder) {
  Contents contents;
  for (const std::string& name : EntriesOf(folder)) {
    struct stat info = {};
    if (lstat((folder / name).c_str(), &info) != 0) continue;
    contents.size += static_cast<uint64_t>(info.st_size);
    contents.newest = std::max<int64_t>(contents.newest, info.st_mtim.tv_sec);
  }
  return contents;
}

void MakeFolder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) == 0) return;
  if (errno == ENOENT && folder.has_relative_path()) {
    MakeFolder(folder.parent_path());
    if (mkdir(folder.c_str(), 0700) == 0) return;
  }
  const int reason = errno;
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return;
  Fail(StatusCode::kFail, "folder '{}' can't be made: {}", folder.string(), AccessReason(folder, reason));
}

// Returns a descriptor that holds the lock, or -1 when another process has it or the folder is gone. Closing the
// descriptor releases the lock.
int LockFolder(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  // If the file system has no locks, only the folder's age tells whether it is abandoned.
  struct stat info = {};
  const bool unlockable = errno != EWOULDBLOCK && errno != EINTR;
  if (unlockable && fstat(fd, &info) == 0 && time(nullptr) - info.st_mtim.tv_sec > kStagingMaxSeconds) return fd;
  close(fd);
  return -1;
}

}  // namespace

CacheFolder::Staging::Staging(const fs::path& folder) {
  MakeFolder(folder);
  while (fd_ < 0) {
    path_ = folder / NewStagingName();
    int error = 0;
    remove_on_exit_.Make(path_, [&] { error = mkdir(path_.c_str(), 0700) == 0 ? 0 : errno; });
    if (error != 0) {
      remove_on_exit_.Release();  // the folder belongs to another process
      if (error == EEXIST) continue;
      Fail(StatusCode::kFail, "folder '{}' can't be written: {}", folder.string(), AccessReason(folder, error));
    }
    fd_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd_ < 0) {
      if (errno == ENOENT) continue;
      Fail(StatusCode::kFail, "folder '{}' can't be opened: {}", path_.string(), AccessReason(path_, errno));
    }
    // A process that cleans up may have found the folder before it was locked.
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat info = {};
    if (fstat(fd_, &info) != 0 || info.st_nlink == 0) {
      close(fd_);
      fd_ = -1;
    }
  }
  if (mkdir(entry().c_str(), 0700) != 0) {
    Fail(StatusCode::kFail, "folder '{}' can't be written: {}", path_.string(), AccessReason(path_, errno));
  }
}

CacheFolder::Staging::~Staging() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(fd_);
}

CacheFolder::CacheFolder(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::absolute(folder, error);
  fs::path found = fs::weakly_canonical(whole, error);
  if (error) found = whole;
  folder_ = found.has_filename() ? std::move(found) : found.parent_path();
}

fs::path CacheFolder::EntryPath(std::string_view key) const {
  return folder_ / std::string(key.substr(0, 2)) / std::string(key);
}

void CacheFolder::MakeWay(std::string_view key) const { MakeFolder(EntryPath(key).parent_path()); }

fs::path CacheFolder::LockPath(std::string_view key) const { return EntryPath(key).string() + ".lock"; }

void CacheFolder::Publish(const Staging& staging, std::string_view key, bool replace) const {
  const fs::path target = EntryPath(key);
  MakeWay(key);
  RemoveOnExit::CommitUninterrupted([&] {
    if (replace && rename(target.c_str(), staging.old().c_str()) != 0 && errno != ENOENT) {
      Fail(StatusCode::kFail, "'{}' can't be replaced: {}", target.string(), AccessReason(target, errno));
    }
    if (rename(staging.entry().c_str(), target.c_str()) == 0) return;
    if (errno == EEXIST || errno == ENOTEMPTY) return;  // another process published it first
    Fail(StatusCode::kFail, "'{}' can't be made: {}", target.string(), AccessReason(target, errno));
  });
}

std::vector<CacheFolder::Entry> CacheFolder::List(bool verify) const {
  std::vector<Entry> entries;
  const CacheTrust trust(folder_);
  ThreadPool pool(verify ? 0 : 1);
  for (const std::string& prefix : EntriesOf(folder_)) {
    if (prefix.size() != 2 || !IsHex(prefix) || !IsFolder(folder_ / prefix)) continue;
    for (const std::string& key : EntriesOf(folder_ / prefix)) {
      const fs::path path = folder_ / prefix / key;
      if (!IsKey(key) || !key.starts_with(prefix) || !IsFolder(path)) continue;
      Entry entry;
      entry.key = key;
      entry.path = path;
      const Contents contents = ContentsOf(path);
      entry.size = contents.size;
      entry.last_used = contents.newest;
      try {
        entry.record = ReadCacheRecord(path);
        entry.record = verify ? VerifyCacheEntry(path, key, trust, &pool) : CheckCacheEntry(path, key, trust, &pool);
      } catch (const Error& error) {
        entry.problem = error.message();
      }
      if (IsFolder(path)) entries.push_back(std::move(entry));  // otherwise the entry was removed meanwhile
    }
  }
  return entries;
}

bool CacheFolder::Remove(const Entry& entry) const {
  const auto lock = CacheLock::Try(LockPath(entry.key));
  if (lock == nullptr) return false;
  const Staging staging(folder_);
  if (rename(entry.path.c_str(), staging.old().c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  Fail(StatusCode::kFail, "'{}' can't be removed: {}", entry.path.string(), AccessReason(entry.path, errno));
}

uint64_t CacheFolder::RemoveLeftovers() const {
  uint64_t removed = 0;
  StagedFile::RemoveAbandoned(folder_);  // an unfinished secret
  for (const std::string& name : EntriesOf(folder_)) {
    const fs::path path = folder_ / name;
    if (name.size() == 2 && IsHex(name) && IsFolder(path)) {
      for (const std::string& file : EntriesOf(path)) {
        // Taking a lock and releasing it removes its file.
        const bool is_lock = file.ends_with(".lock") && IsKey(file.substr(0, file.size() - 5));
        if (is_lock && CacheLock::Try(path / file) != nullptr) ++removed;
      }
      continue;
    }
    if (!IsStaging(name) || !IsFolder(path)) continue;
    const int fd = LockFolder(path);
    if (fd < 0) continue;
    std::error_code error;
    fs::remove_all(path, error);
    if (!error) ++removed;
    close(fd);
  }
  return removed;
}

void CacheFolder::Evict(std::vector<Entry> entries, uint64_t max_bytes, std::string_view keep, Removed* removed) const {
  if (max_bytes == 0) return;
  uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.size;
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.last_used < b.last_used; });
  for (const Entry& entry : entries) {
    if (total <= max_bytes) return;
    if (entry.key == keep || !Remove(entry)) continue;
    total -= entry.size;
    removed->evicted.push_back(entry);
  }
}

CacheFolder::Removed CacheFolder::Trim(uint64_t max_bytes, std::string_view keep) const {
  Removed removed;
  removed.leftovers = RemoveLeftovers();
  if (max_bytes != 0) Evict(List(/*verify=*/false), max_bytes, keep, &removed);
  return removed;
}

CacheFolder::Removed CacheFolder::Collect(uint64_t max_bytes) const {
  Removed removed;
  removed.leftovers = RemoveLeftovers();
  std::vector<Entry> good;
  for (Entry& entry : List(/*verify=*/true)) {
    if (entry.problem.empty()) {
      good.push_back(std::move(entry));
    } else if (Remove(entry)) {
      removed.broken.push_back(std::move(entry));
    }
  }
  Evict(std::move(good), max_bytes, "", &removed);
  return removed;
}

}  // namespace epiphyte::core
