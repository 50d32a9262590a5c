#include "core/base/staged_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/mapping_guard.h"

namespace epiphyte::core {
namespace {

constexpr std::string_view kPrefix = ".epiphyte-";
constexpr std::string_view kSuffix = ".staged";

std::string_view Advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "make room or choose another folder";
    case EFBIG: return "raise the limit on the size of files";
    case EMFILE:
    case ENFILE: return "raise the limit on open files";
    case ENOENT:
    case ENOTDIR: return "create the folder first";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a folder that you may write to";
    case ENAMETOOLONG: return "choose a shorter name";
    default: return "check the disk or choose another folder";
  }
}

// The system's message for `error`, and advice.
std::string Reason(int error) { return fmt::format("{}; {}", std::generic_category().message(error), Advice(error)); }

std::filesystem::path FolderOf(const std::filesystem::path& target) {
  return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

std::string_view KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a named pipe";
    case S_IFSOCK: return "a socket";
    case S_IFBLK:
    case S_IFCHR: return "a device";
    default: return "no regular file";
  }
}

// True for links such as /dev/stdout. Their target depends on the process that resolves them, so they name no place for
// a file.
bool LeadsToOpenFile(const std::filesystem::path& link) {
  std::error_code error;
  return std::filesystem::read_symlink(link, error).string().starts_with("/proc/");
}

void CheckKind(const std::filesystem::path& target) {
  if (!target.has_filename()) {
    Fail(StatusCode::kInvalidArgument, "'{}' names no file; give the path of a file", target.string());
  }
  struct stat info = {};
  if (lstat(target.c_str(), &info) != 0) return;
  const bool link = S_ISLNK(info.st_mode);
  if (link && LeadsToOpenFile(target)) {
    Fail(StatusCode::kInvalidArgument, "'{}' leads to an open file of a process; give the path of a file",
         target.string());
  }
  if (link && stat(target.c_str(), &info) != 0) return;  // a dangling link
  if (S_ISREG(info.st_mode)) return;
  Fail(StatusCode::kInvalidArgument, "'{}' {} {}; only regular files are replaced, give another path", target.string(),
       link ? "leads to" : "is", KindOf(info.st_mode));
}

// The target's name is not part of the staged name: a name of 255 bytes is allowed, and together they could exceed that
// limit.
std::string StagedName() {
  static std::atomic<uint64_t> counter{0};
  std::random_device random;
  return fmt::format("{}{}-{}-{:08x}{}", kPrefix, getpid(), counter.fetch_add(1), random(), kSuffix);
}

// Creates the file and locks it. If a sweep ran in between, it has removed the name; the file is then gone and the
// caller tries another name. No sweeps happen on file systems without working locks.
int CreateLocked(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return fd;
  struct stat info = {};
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &info) == 0 && info.st_nlink > 0) return fd;
  const bool swept = errno == EWOULDBLOCK || (fstat(fd, &info) == 0 && info.st_nlink == 0);
  if (!swept) return fd;
  close(fd);
  errno = EAGAIN;
  return -1;
}

// Makes the rename durable by syncing the folder. A folder that may not be opened for reading, or a file system that
// can't sync folders, is no error: the data is safe.
void SyncFolder(const std::filesystem::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  if (error == EIO || error == ENOSPC || error == EDQUOT) {
    Fail(StatusCode::kFail, "folder '{}' can't be synced: {}", folder.string(), Reason(error));
  }
}

// Renames only if there is no target. Returns 0 or errno.
int RenameIfAbsent(const char* from, const char* to) {
#if defined(RENAME_NOREPLACE)
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
  // Not every file system has the flag. A hard link fails just as atomically if the target exists.
  if (link(from, to) != 0) return errno;
  unlink(from);
  return 0;
}

}  // namespace

StagedFile::StagedFile(std::filesystem::path target) : target_(std::move(target)) {
  CheckKind(target_);
  const std::filesystem::path folder = FolderOf(target_);
  int error = 0;
  do {
    staged_ = folder / StagedName();
    // Nothing may fail once the file exists: the destructor does not run for a constructor that throws.
    remove_on_exit_.Make(staged_, [&] {
      fd_ = CreateLocked(staged_);
      error = fd_ < 0 ? errno : 0;
    });
  } while (error == EAGAIN);
  if (error != 0) Fail(StatusCode::kFail, "folder '{}' can't be written: {}", folder.string(), Reason(error));
}

void StagedFile::CheckTarget(const std::filesystem::path& target) {
  CheckKind(target);
  const std::filesystem::path folder = FolderOf(target);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    Fail(StatusCode::kInvalidArgument, "'{}' can't be written: '{}' is no folder; create it first", target.string(),
         folder.string());
  }
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    Fail(StatusCode::kFail, "folder '{}' can't be written: {}", folder.string(), Reason(errno));
  }
}

StagedFile::~StagedFile() {
  if (fd_ >= 0) close(fd_);
  if (!staged_.empty()) unlink(staged_.c_str());
}

void StagedFile::Write(const void* data, uint64_t size) {
  constexpr uint64_t kMaxStep = uint64_t{1} << 30;  // systems write at most 2 GiB at once
  const auto* next = static_cast<const char*>(data);
  synced_ = false;
  for (uint64_t left = size; left > 0;) {
    const ssize_t written = write(fd_, next, static_cast<size_t>(std::min(left, kMaxStep)));
    if (written < 0) {
      if (errno == EINTR) continue;
      // `next` may view a mapped file that was truncated. The owner of the mapping will notice and report that.
      if (errno == EFAULT && TouchGuarded(next, static_cast<size_t>(std::min(left, kMaxStep)))) continue;
      Fail(StatusCode::kFail, "'{}' can't be written: {}", target_.string(), Reason(errno));
    }
    next += written;
    left -= static_cast<uint64_t>(written);
    size_ += static_cast<uint64_t>(written);
  }
}

void StagedFile::Align(uint64_t alignment) {
  if (alignment == 0) return;
  static constexpr std::array<char, 4096> kZeros = {};
  for (uint64_t left = (alignment - size_ % alignment) % alignment; left > 0;) {
    const uint64_t step = std::min<uint64_t>(left, kZeros.size());
    Write(kZeros.data(), step);
    left -= step;
  }
}

// Syncs in steps, so that a large file reports progress. The final fsync then takes little time.
void StagedFile::Sync(const ProgressCallback& on_progress) {
  if (synced_) return;
  const auto fail = [&] { Fail(StatusCode::kFail, "'{}' can't be made durable: {}", target_.string(), Reason(errno)); };
#if defined(SYNC_FILE_RANGE_WRITE)
  for (uint64_t done = 0; on_progress && done < size_;) {
    const uint64_t bytes = std::min(kBytesPerReport, size_ - done);
    const int result =
        sync_file_range(fd_, static_cast<off_t>(done), static_cast<off_t>(bytes),
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    // The system reports a write error only once, so fsync would miss it. Not every file system supports this call.
    if (result != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT)) fail();
    done += bytes;
    ReportProgress(on_progress, done, size_, "waiting for the disk");
  }
#endif
  if (fsync(fd_) != 0) fail();
  synced_ = true;
}

void StagedFile::Commit(bool overwrite) {
  Sync();
  CheckKind(target_);  // again, because the target may have changed by now
  if (overwrite) {
    if (rename(staged_.c_str(), target_.c_str()) != 0) {
      Fail(StatusCode::kFail, "'{}' can't be replaced: {}", target_.string(), Reason(errno));
    }
  } else if (const int error = RenameIfAbsent(staged_.c_str(), target_.c_str()); error != 0) {
    if (error == EEXIST) {
      Fail(StatusCode::kFail, "'{}' exists already; choose another name or allow overwriting", target_.string());
    }
    Fail(StatusCode::kFail, "'{}' can't be created: {}", target_.string(), Reason(error));
  }
  staged_.clear();
  remove_on_exit_.Release();
  close(fd_);
  fd_ = -1;
  SyncFolder(FolderOf(target_));
}

void StagedFile::RemoveAbandoned(const std::filesystem::path& folder) noexcept {
  DIR* entries = opendir(folder.empty() ? "." : folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const int fd = openat(dirfd(entries), entry->d_name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(entries), entry->d_name, 0);
    close(fd);
  }
  closedir(entries);
}

}  // namespace epiphyte::core
