#include "core/base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

[[noreturn]] void FailRead(const std::filesystem::path& path, int error) {
  if (error == ENOENT || error == ENOTDIR) Fail(StatusCode::kNoSuchFile, "file '{}' does not exist", path.string());
  Fail(StatusCode::kFail, "file '{}' can't be read: {}", path.string(), std::generic_category().message(error));
}

// Returns 0 or errno.
int ReadUpTo(int fd, size_t limit, std::string* content) {
  char buffer[16 * 1024];
  while (content->size() < limit) {
    const ssize_t got = read(fd, buffer, std::min(sizeof buffer, limit - content->size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    content->append(buffer, static_cast<size_t>(got));
  }
  return 0;
}

}  // namespace

std::string ReadSmallFile(const std::filesystem::path& path, size_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) FailRead(path, errno);
  struct stat info = {};
  int error = fstat(fd, &info) == 0 ? 0 : errno;
  const bool regular = error == 0 && S_ISREG(info.st_mode);
  std::string content;
  if (regular) error = ReadUpTo(fd, max_bytes + 1, &content);
  close(fd);
  if (error != 0) FailRead(path, error);
  if (!regular) Fail(StatusCode::kInvalidArgument, "'{}' is no regular file", path.string());
  if (content.size() > max_bytes) {
    Fail(StatusCode::kInvalidArgument, "file '{}' has more than {} bytes; at most these are allowed", path.string(),
         max_bytes);
  }
  return content;
}

}  // namespace epiphyte::core
