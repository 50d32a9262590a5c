#include "core/cache/cache_digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <mutex>
#include <system_error>

#include "core/base/descriptor.h"
#include "core/base/error.h"
#include "core/base/hash.h"

namespace epiphyte::core {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{8} << 20;
// Read size; the bytes stay in the CPU cache between reading and hashing.
constexpr size_t kReadBytes = size_t{64} << 10;

struct Piece {
  const DigestSource* source;
  uint64_t offset;
  uint64_t size;
  std::string digest;
};

std::string DigestOfFilePiece(const Piece& piece) {
  const std::filesystem::path& path = piece.source->file;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    Fail(StatusCode::kFail, "file '{}' can't be read: {}", path.string(), std::generic_category().message(errno));
  }
  Sha256Stream stream;
  std::vector<char> buffer(std::min<uint64_t>(kReadBytes, piece.size));
  for (uint64_t done = 0; done < piece.size;) {
    const size_t want = std::min<uint64_t>(buffer.size(), piece.size - done);
    const ssize_t got = pread(file.get(), buffer.data(), want, static_cast<off_t>(piece.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      Fail(StatusCode::kFail, "file '{}' can't be read at byte {}: {}", path.string(), piece.offset + done,
           got == 0 ? "it became shorter while it was read" : std::generic_category().message(errno));
    }
    stream.Update(buffer.data(), static_cast<size_t>(got));
    done += static_cast<uint64_t>(got);
  }
  return stream.Finish();
}

std::string DigestOf(const Piece& piece) {
  if (!piece.source->file.empty()) return DigestOfFilePiece(piece);
  return Sha256(piece.source->bytes.data() + piece.offset, piece.size);
}

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileStamp StampOf(const std::filesystem::path& file) {
  struct stat info = {};
  if (stat(file.c_str(), &info) != 0) {
    const int error = errno;
    Fail(error == ENOENT || error == ENOTDIR ? StatusCode::kNoSuchFile : StatusCode::kFail,
         "file '{}' can't be read: {}", file.string(), std::generic_category().message(error));
  }
  if (!S_ISREG(info.st_mode)) Fail(StatusCode::kInvalidArgument, "'{}' is no regular file", file.string());
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), Nanoseconds(info.st_mtim),
          Nanoseconds(info.st_ctim)};
}

std::vector<std::string> DigestAll(std::span<const DigestSource> sources, ThreadPool* pool) {
  std::vector<Piece> pieces;
  for (const DigestSource& source : sources) {
    const uint64_t size = source.file.empty() ? source.bytes.size() : source.size;
    for (uint64_t offset = 0; offset < size; offset += kPieceBytes) {
      pieces.push_back({&source, offset, std::min(kPieceBytes, size - offset), {}});
    }
  }
  std::mutex mutex;
  std::exception_ptr failure;
  auto body = [&](uint64_t begin, uint64_t end, uint32_t) noexcept {
    for (uint64_t i = begin; i < end; ++i) {
      try {
        pieces[i].digest = DigestOf(pieces[i]);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = std::current_exception();
      }
    }
  };
  pool->ParallelFor(pieces.size(), 1, body);
  if (failure) std::rethrow_exception(failure);

  std::vector<std::string> digests;
  auto piece = pieces.begin();
  for (const DigestSource& source : sources) {
    Sha256Stream whole;
    for (; piece != pieces.end() && piece->source == &source; ++piece) {
      whole.Update(piece->digest.data(), piece->digest.size());
    }
    digests.push_back(whole.Finish());
  }
  return digests;
}

}  // namespace epiphyte::core
