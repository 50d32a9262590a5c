#include "core/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void FailOpen(const std::filesystem::path& path, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    Fail(StatusCode::kNoSuchFile, "file '{}' does not exist", path.string());
  }
  Fail(StatusCode::kFail, "file '{}' can't be read: {}", path.string(), std::generic_category().message(error));
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) FailOpen(path, errno);
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) FailOpen(path, errno);
  if (!S_ISREG(info.st_mode)) {
    Fail(StatusCode::kInvalidArgument, "'{}' is no regular file; give the path of a file", path.string());
  }

  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  mapped->size_ = static_cast<uint64_t>(info.st_size);
  if (mapped->size_ == 0) return mapped;
  if (mapped->size_ > std::numeric_limits<size_t>::max()) FailOpen(path, EFBIG);
  void* data = mmap(nullptr, static_cast<size_t>(mapped->size_), PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) FailOpen(path, errno);
  mapped->data_ = static_cast<const uint8_t*>(data);
  return mapped;
}

void MappedFile::ReleasePages() const {
  if (data_ != nullptr) madvise(const_cast<uint8_t*>(data_), static_cast<size_t>(size_), MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), static_cast<size_t>(size_));
}

}  // namespace epiphyte::core
