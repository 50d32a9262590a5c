#include "core/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/base/log.h"

namespace epiphyte::core {
namespace {

constexpr std::chrono::seconds kReaderPatience{5};
constexpr std::chrono::seconds kPublisherPatience{60};

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, Mode mode) {
  fd_ = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) return;
  const int operation = (mode == kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::milliseconds pause{1};
  while (flock(fd_, operation) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    const bool taken = error == EWOULDBLOCK;
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (taken && waited < (mode == kShared ? kReaderPatience : kPublisherPatience)) {
      std::this_thread::sleep_for(pause);
      if (pause < std::chrono::milliseconds(16)) pause *= 2;
      continue;
    }
    close(fd_);
    fd_ = -1;
    if (taken && mode == kExclusive) {
      Log(LogLevel::kWarning, "folder_lock", "folder '{}' has been locked by other processes for {} seconds; going on",
          folder.string(), kPublisherPatience.count());
    }
    return;
  }
}

FolderLock::~FolderLock() {
  if (fd_ < 0) return;
  flock(fd_, LOCK_UN);  // explicit, because a child that was forked meanwhile has the descriptor too
  close(fd_);
}

}  // namespace epiphyte::core
