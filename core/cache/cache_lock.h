// CacheLock: lets one process at a time compile the model of a key; the others wait for the result.
//
// It is a lock on a file that is removed with the lock. The system releases it when a process dies; the file then
// stays, and the next holder takes it over. On a file system without locks no process waits: compiling twice does no
// harm.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "core/base/remove_on_exit.h"

namespace epiphyte::core {

class CacheLock {
 public:
  // Called repeatedly while waiting; may throw to give up.
  using Waiting = std::function<void()>;

  // Throws FAIL when the file can't be made.
  CacheLock(std::filesystem::path file, const Waiting& waiting);
  // Returns null when another process has the lock.
  static std::unique_ptr<CacheLock> Try(const std::filesystem::path& file);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;

 private:
  CacheLock() = default;
  bool Take();

  std::filesystem::path file_;
  RemoveOnExit remove_on_exit_;
  int fd_ = -1;
};

}  // namespace epiphyte::core
