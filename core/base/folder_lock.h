// FolderLock: separates processes that publish into one folder, and keeps readers from seeing a half-published state.
//
// It is an advisory lock on the folder itself. It leaves no file behind, needs no write permission, and the system
// releases it when the process dies. On file systems that can't lock (some network file systems) locking is skipped.
// Publishing is still safe step by step there, but a reader may be told to try again.
// A process that holds the lock too long (a stopped one, for instance), or readers that never all release it, delay
// other readers for seconds and a publisher for a minute. Then they continue without the lock, because losing compiled
// results would be worse.
//
//   FolderLock lock(target.parent_path(), FolderLock::kExclusive);
#pragma once

#include <filesystem>

namespace epiphyte::core {

class FolderLock {
 public:
  enum Mode { kShared, kExclusive };
  // Waits for the lock. "" is the current folder. A folder that can't be opened isn't locked; later accesses to it
  // report the error.
  FolderLock(const std::filesystem::path& folder, Mode mode);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace epiphyte::core
