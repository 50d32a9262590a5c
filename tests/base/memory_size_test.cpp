#include "core/base/memory_size.h"

#include <gtest/gtest.h>

#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

constexpr uint64_t kGigabyte = uint64_t{1} << 30;

class MemorySizeTest : public testing::Test {
 protected:
  MemorySizeTest() { root_.Write("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:  1 kB\n"); }
  uint64_t Memory() const { return MachineMemory(root_.path()); }

  test::TempDir root_;
};

TEST_F(MemorySizeTest, IsTheMachinesWithoutControlGroups) { EXPECT_EQ(Memory(), 8 * kGigabyte); }

TEST_F(MemorySizeTest, IsWhatTheProcesssGroupAllows) {
  root_.Write("proc/self/cgroup", "0::/user/app\n");
  root_.Write("sys/fs/cgroup/user/app/memory.max", "1073741824\n");
  EXPECT_EQ(Memory(), kGigabyte);
}

TEST_F(MemorySizeTest, IsWhatAGroupAroundTheProcesssAllows) {
  root_.Write("proc/self/cgroup", "0::/user/app\n");
  root_.Write("sys/fs/cgroup/user/app/memory.max", "max\n");
  root_.Write("sys/fs/cgroup/user/memory.max", "2147483648\n");
  EXPECT_EQ(Memory(), 2 * kGigabyte);
}

TEST_F(MemorySizeTest, ReadsTheGroupOfAContainerUnderItsInnerPath) {
  root_.Write("proc/self/cgroup", "0::/docker/4711\n");
  root_.Write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(Memory(), kGigabyte);
}

TEST_F(MemorySizeTest, ReadsGroupsOfVersionOne) {
  root_.Write("proc/self/cgroup", "11:cpuset:/\n5:cpuacct,memory:/app\n");
  root_.Write("sys/fs/cgroup/memory/app/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(Memory(), kGigabyte);
}

TEST_F(MemorySizeTest, IsTheMachinesWhenAGroupAllowsMore) {
  root_.Write("proc/self/cgroup", "5:memory:/\n");
  root_.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Memory(), 8 * kGigabyte);
}

TEST_F(MemorySizeTest, IgnoresInvalidLimits) {
  root_.Write("proc/self/cgroup", "0::\nx\n:\n0::/a/../../b\n5:memory\n");
  root_.Write("sys/fs/cgroup/memory.max", "-\n");
  EXPECT_EQ(Memory(), 8 * kGigabyte);
}

TEST(MemorySize, OfThisMachineIsSomething) { EXPECT_GT(MachineMemory(), uint64_t{1} << 20); }

TEST(MemorySize, IsNoLimitWhereTheSystemSaysNothing) {
  test::TempDir empty;
  EXPECT_EQ(MachineMemory(empty.path()), UINT64_MAX);
}

}  // namespace
}  // namespace epiphyte::core
