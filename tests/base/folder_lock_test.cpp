// Folder locks keep publishers apart, let readers in together, and never outlive their process.
#include "core/base/folder_lock.h"

#include <gtest/gtest.h>
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
  const FolderLock one(dir.path(), FolderLock::kShared);
  const auto begin = std::chrono::steady_clock::now();
  const FolderLock two(dir.path(), FolderLock::kShared);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
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

TEST(FolderLock, AMissingFolderIsSomebodyElsesTrouble) {
  TempDir dir;
  const FolderLock lock(dir / "missing", FolderLock::kExclusive);
}

}  // namespace
}  // namespace epiphyte::test
