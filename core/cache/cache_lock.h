// CacheLock: one process at a time compiles what a key stands for; the others wait for what it makes.
//
// A lock on a file that goes away with the lock. The system lets go of it when a process dies; the file then stays, and
// the next holder takes it over. Where the file system can't lock, nobody waits: compiling twice does no harm.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "core/base/remove_on_exit.h"

namespace epiphyte::core {

class CacheLock {
 public:
  // Called now and then while waiting; may throw to give up.
  using Waiting = std::function<void()>;

  // Throws FAIL when the file can't be made.
  CacheLock(std::filesystem::path file, const Waiting& waiting);
  // Null when another process has it.
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
