#include "core/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>

#include "core/base/descriptor.h"
#include "core/base/error.h"
#include "core/base/hash.h"

namespace epiphyte::core {
namespace {

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
  State& state = *mapped->state_;
  state.path = path;
  state.size = mapped->size_;
  state.device = info.st_dev;
  state.inode = info.st_ino;
  mapped->guarded_.emplace(data, static_cast<size_t>(mapped->size_), &state.mark);
  return mapped;
}

void MappedFile::ReleasePages() const {
  if (data_ != nullptr) madvise(const_cast<uint8_t*>(data_), static_cast<size_t>(size_), MADV_DONTNEED);
}

std::string MappedFile::Digest(ThreadPool* pool, const ProgressCallback& on_progress) const {
  std::string digest = Xxh128OfMapping(data_, static_cast<size_t>(size_), pool, on_progress);
  RequireIntact();
  return digest;
}

MappedFile::~MappedFile() {
  guarded_.reset();
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), static_cast<size_t>(size_));
}

void MappedFile::State::RequireNothingLost() const {
  if (!mark.lost()) return;
  Fail(StatusCode::kFail,
       "file '{}' was changed while in use: another program cut it off, and bytes that were needed are gone; restore "
       "the file and create the session again, and replace files by renaming, not by writing into them",
       path.string());
}

void MappedFile::State::RequireIntact() const {
  RequireNothingLost();
  // A shorter file's last page reads as zeros after the end of the file, without a fault. Therefore the size is
  // compared.
  struct stat info = {};
  if (size == 0 || stat(path.c_str(), &info) != 0) return;
  const bool same_file = info.st_dev == device && info.st_ino == inode;
  if (!same_file || static_cast<uint64_t>(info.st_size) >= size) return;
  Fail(StatusCode::kFail,
       "file '{}' was changed while in use: it had {} bytes when it was opened and has {} now; restore the file, and "
       "replace files by renaming, not by writing into them",
       path.string(), size, info.st_size);
}

void UsedFiles::RequireIntact() const {
  for (const auto& file : files_) file->RequireIntact();
}

void UsedFiles::LookAtMarks() const {
  for (const auto& file : files_) file->RequireNothingLost();
}

}  // namespace epiphyte::core
