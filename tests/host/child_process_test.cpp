// Running another program: its end, its outputs, and no open descriptor left when the system has no more.
#include "host/cli/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "epiphyte/error.hpp"

namespace epiphyte::test {
namespace {

using cli::ChildResult;
using cli::RunChild;

int OpenDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit = {most, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

TEST(ChildProcess, GivesTheInputAndCatchesTheOutputs) {
  const ChildResult result = RunChild({.words = {"/bin/sh", "-c", "cat; echo no >&2; exit 3"}, .input = "yes"});
  EXPECT_EQ(result.out, "yes");
  EXPECT_EQ(result.err, "no\n");
  EXPECT_EQ(result.code, 3);
}

// The limit allows making a pipe, but not duplicating its ends to other descriptors.
TEST(ChildProcess, LeavesNoDescriptorOpenWhenThereAreTooFew) {
  const int before = OpenDescriptors();
  {
    const DescriptorLimit limit(10);
    int ends[2] = {-1, -1};
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(RunChild({.words = {"/bin/true"}}), Error);
    }
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace epiphyte::test
