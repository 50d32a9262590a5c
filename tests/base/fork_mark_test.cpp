// Detection of objects that were made before fork(), and how a child may use the parent's threads.
#include "core/base/fork_mark.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "core/base/folder_lock.h"
#include "core/base/thread_pool.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

using core::FolderLock;
using core::ForkMark;
using core::ThreadPool;

// Returns the exit code of `body` in a forked child; -1 if it doesn't end within 20 seconds.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(ForkMark, IsInheritedByChildrenAndGrandchildren) {
  const ForkMark mark;
  EXPECT_FALSE(mark.IsInherited());
  EXPECT_EQ(InChild([&] {
              const ForkMark own;
              const bool in_grandchild = InChild([&] { return own.IsInherited() && mark.IsInherited() ? 7 : 1; }) == 7;
              return mark.IsInherited() && !own.IsInherited() && in_grandchild ? 7 : 1;
            }),
            7);
  EXPECT_FALSE(mark.IsInherited());
}

TEST(ForkMark, APoolOfTheParentCanBeDestroyedInTheChild) {
  auto pool = std::make_unique<ThreadPool>(3);
  EXPECT_EQ(pool->thread_count(), 3u);
  EXPECT_EQ(InChild([&] {
              pool.reset();
              return 7;
            }),
            7);
  EXPECT_EQ(pool->thread_count(), 3u);
}

// A child would hold a descriptor of its parent's lock for its whole life.
TEST(ForkMark, AChildKeepsNoLockOfItsParent) {
  const TempDir dir;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = 0;
  {
    const FolderLock lock(dir.path(), FolderLock::kExclusive);
    child = fork();
    if (child == 0) {
      close(ends[1]);
      char byte = 0;
      [[maybe_unused]] const ssize_t got = read(ends[0], &byte, 1);
      _exit(0);
    }
  }
  const int code = InChild([&] {
    alarm(3);  // shorter than a publisher waits
    const FolderLock lock(dir.path(), FolderLock::kExclusive);
    return 7;
  });
  EXPECT_EQ(code, 7);
  close(ends[1]);
  close(ends[0]);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace epiphyte::test
