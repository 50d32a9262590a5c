#include "core/cache/cache_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/cache/cache_access.h"

namespace epiphyte::core {
namespace {

// Whether the locked file is still the one at that path. A holder removes the file before it releases the lock, so a
// waiting process may have locked a file that no other process can find.
bool IsStillThere(int fd, const std::filesystem::path& file) {
  struct stat locked = {}, found = {};
  return fstat(fd, &locked) == 0 && stat(file.c_str(), &found) == 0 && locked.st_dev == found.st_dev &&
         locked.st_ino == found.st_ino;
}

}  // namespace

// Returns false when another process has the lock.
bool CacheLock::Take() {
  while (true) {
    fd_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0) {
      Fail(StatusCode::kFail, "'{}' can't be made: {}", file_.string(), AccessReason(file_, errno));
    }
    int error = 0;
    do {
      error = flock(fd_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    } while (error == EINTR);
    if (error != EWOULDBLOCK && (error != 0 || IsStillThere(fd_, file_))) {
      try {
        remove_on_exit_.Make(file_, [] {});
      } catch (...) {
        unlink(file_.c_str());
        close(std::exchange(fd_, -1));
        throw;
      }
      return true;
    }
    close(fd_);
    fd_ = -1;
    if (error == EWOULDBLOCK) return false;
  }
}

CacheLock::CacheLock(std::filesystem::path file, const Waiting& waiting) : file_(std::move(file)) {
  using namespace std::chrono_literals;
  for (auto pause = 1ms; !Take(); pause = std::min(pause * 2, 50ms)) {
    waiting();
    std::this_thread::sleep_for(pause);
  }
}

std::unique_ptr<CacheLock> CacheLock::Try(const std::filesystem::path& file) {
  std::unique_ptr<CacheLock> lock(new CacheLock);
  lock->file_ = file;
  return lock->Take() ? std::move(lock) : nullptr;
}

CacheLock::~CacheLock() {
  if (fd_ < 0) return;
  unlink(file_.c_str());
  flock(fd_, LOCK_UN);  // a process that was forked meanwhile has the descriptor, too
  close(fd_);
}

}  // namespace epiphyte::core
