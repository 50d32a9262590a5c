// Digests of large inputs, computed on all threads of a session. Each input is cut into pieces; its digest is the
// SHA-256 of the pieces' digests.
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

// The system's identification of a file's state. A different stamp means that the file may have other bytes.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // utimes can't set it back

  bool operator==(const FileStamp&) const = default;
};
// Throws NO_SUCHFILE, and INVALID_ARGUMENT for anything but a regular file.
FileStamp StampOf(const std::filesystem::path& file);

struct DigestSource {
  std::filesystem::path file;  // empty: the digest is over `bytes`
  std::string_view bytes;
  uint64_t size = 0;  // file size, from its stamp
};

// Returns one digest for each source, 64 hex digits. Files are read, not mapped. So they don't stay in the session's
// memory, and a file that is truncated meanwhile is an error instead of a signal. Throws FAIL when a file can't be read
// or has another size.
std::vector<std::string> DigestAll(std::span<const DigestSource> sources, ThreadPool* pool);

}  // namespace epiphyte::core
