// Folder locks keep publishers apart, let readers in together, and never outlive their process.
#include "core/base/folder_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

using core::FolderLock;

TEST(FolderLock, LeavesNothingBehind) {
  TempDir dir;
  { const FolderLock lock(dir.path(), FolderLock::kExclusive); }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(FolderLock, ReadersComeInTogether) {
  TempDir dir;
  std::optional<FolderLock> one(std::in_place, dir.path(), FolderLock::kShared);
  std::optional<FolderLock> two(std::in_place, dir.path(), FolderLock::kShared);
  // A reader goes on without the lock when its wait times out.
  const int folder = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(folder, 0);
  one.reset();
  EXPECT_NE(flock(folder, LOCK_EX | LOCK_NB), 0) << "the second is in";
  two.reset();
  EXPECT_EQ(flock(folder, LOCK_EX | LOCK_NB), 0);
  close(folder);
}

TEST(FolderLock, APublisherWaitsForTheOther) {
  TempDir dir;
  std::atomic<bool> inside{false};
  std::optional<FolderLock> first(std::in_place, dir.path(), FolderLock::kExclusive);
  std::thread second([&] {
    const FolderLock lock(dir.path(), FolderLock::kExclusive);
    inside = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_FALSE(inside);
  first.reset();
  second.join();
  EXPECT_TRUE(inside);
}

TEST(FolderLock, GoesWithAKilledProcess) {
  TempDir dir;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock lock(dir.path(), FolderLock::kExclusive);
    const char byte = 1;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const FolderLock lock(dir.path(), FolderLock::kExclusive);
  close(ready[0]);
  close(ready[1]);
}

TEST(FolderLock, MissingFolderIsIgnored) {
  TempDir dir;
  EXPECT_NO_THROW(FolderLock(dir / "missing", FolderLock::kExclusive));
  EXPECT_FALSE(std::filesystem::exists(dir / "missing")) << "the lock made it";
}

}  // namespace
}  // namespace epiphyte::test
