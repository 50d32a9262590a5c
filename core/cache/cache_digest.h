// Digests of large things, on all threads of a session: each is cut into pieces, and the digest of a thing is the
// SHA-256 of its pieces' digests.
//
//   std::vector<std::string> digests = DigestAll(sources, pool);
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/thread_pool.h"

namespace epiphyte::core {

// Where the system says a file stands: another stamp means that it may have other bytes.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // can't be set back by utimes

  bool operator==(const FileStamp&) const = default;
};
// Throws NO_SUCHFILE, INVALID_ARGUMENT for what is no regular file.
FileStamp StampOf(const std::filesystem::path& file);

struct DigestSource {
  std::filesystem::path file;  // empty: `bytes`
  std::string_view bytes;
  uint64_t size = 0;  // of the file, from its stamp
};

// One for each source, 64 hex digits. Files are read, not mapped: nothing of them stays in the session's memory, and
// one that is cut off meanwhile is an error, not a signal. Throws FAIL when a file can't be read or has another size.
std::vector<std::string> DigestAll(std::span<const DigestSource> sources, ThreadPool* pool);

}  // namespace epiphyte::core
