#include "host/cli/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <string>
#include <vector>

#include "epiphyte/error.hpp"

namespace epiphyte::cli {
namespace {

// Descriptors for a model with a file of weights, a library and its dependencies, the signal pipe, outputs, and a
// reserve.
constexpr size_t kNeeded = 16;
// With a limit of at least this size, free descriptors are not counted.
constexpr rlim_t kPlenty = 64;

}  // namespace

void OccupyClosedStreams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The descriptor is the lowest free number, so open returns it. A stream for writing is opened for reading only,
    // and the reverse, so that its use fails.
    open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool IsOutputClosed() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

void RequireFreeDescriptors() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kPlenty) return;
  std::vector<int> opened;
  while (opened.size() < kNeeded) {
    const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) break;
    opened.push_back(descriptor);
  }
  for (const int descriptor : opened) close(descriptor);
  if (opened.size() == kNeeded) return;
  throw Error(StatusCode::kFail, "only " + std::to_string(opened.size()) + " more files can be opened, " +
                                     std::to_string(kNeeded) +
                                     " are needed; raise the limit of open files (ulimit -n 256)");
}

}  // namespace epiphyte::cli
