// FolderLock: keeps processes that publish into one folder apart, and readers from seeing half of what is published.
//
// An advisory lock on the folder itself: it leaves no file behind, needs no write permission, and the system lets go of
// it when a process dies. Where the file system can't lock (some network file systems), locking is skipped: publishing
// is still safe step by step, only a reader may have to be told to try again. A process that holds the lock for too
// long (it may be stopped), or readers that never let go together, keep others waiting for seconds and a publisher for
// a minute; then they go on without, because losing what was compiled would be worse.
//
//   FolderLock lock(target.parent_path(), FolderLock::kExclusive);
#pragma once

#include <filesystem>

namespace epiphyte::core {

class FolderLock {
 public:
  enum Mode { kShared, kExclusive };
  // Waits. "" is the current folder. A folder that can't be opened isn't locked: whatever needs it will say so.
  FolderLock(const std::filesystem::path& folder, Mode mode);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace epiphyte::core
