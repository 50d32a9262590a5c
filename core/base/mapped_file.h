// MappedFile: a file's bytes, read-only, shared, paged in on demand.
//
//   std::shared_ptr<const MappedFile> file = MappedFile::Open(path);
//   Parse(file->data(), file->size());
//   file->RequireIntact();
//
// If another program truncates a mapped file, the missing bytes read as zeros (mapping_guard.h). Call RequireIntact
// after reading a file and before acting on its contents. A digest is valid only after that check. UsedFiles collects
// the files that a longer operation relies on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mapping_guard.h"
#include "core/base/progress_callback.h"

namespace epiphyte::core {

class ThreadPool;

class MappedFile {
 public:
  // Opens regular files only. Throws NO_SUCHFILE when there is none, INVALID_ARGUMENT when it is not a regular file,
  // FAIL when the system refuses. An empty file has data() == nullptr and size() == 0.
  static std::shared_ptr<const MappedFile> Open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

  // Returns the memory of the pages read so far to the system. A later read loads them from the file again.
  void ReleasePages() const;

  // Throws FAIL, naming the file, when bytes were read that the file no longer had, or when it is shorter now.
  void RequireIntact() const { state_->RequireIntact(); }
  // XXH3-128 of all bytes. Throws as RequireIntact does when bytes were missing. `pool` makes it faster; may be null.
  std::string Digest(ThreadPool* pool, const ProgressCallback& on_progress = {}) const;

 private:
  friend class UsedFiles;
  // State of a mapping that remains when it is unmapped.
  struct State {
    std::filesystem::path path;
    uint64_t size = 0;
    uint64_t device = 0;
    uint64_t inode = 0;
    MappingMark mark;

    void RequireIntact() const;
    void RequireNothingLost() const;  // checks the mark only, without a system call
  };

  MappedFile() = default;
  std::filesystem::path path_;
  const uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::optional<GuardedMapping> guarded_;
};

// The mapped files that an operation relies on. Does not keep them mapped.
class UsedFiles {
 public:
  void Add(const MappedFile& file) { files_.push_back(file.state_); }
  void Add(const UsedFiles& others) { files_.insert(files_.end(), others.files_.begin(), others.files_.end()); }

  // Calls MappedFile::RequireIntact for each file.
  void RequireIntact() const;
  // Like RequireIntact, but detects only missing bytes that were read. Costs one relaxed load as long as no mapped file
  // of the process was ever truncated.
  void RequireNothingLost() const {
    if (AnyMappingLost()) LookAtMarks();
  }

 private:
  void LookAtMarks() const;
  std::vector<std::shared_ptr<const MappedFile::State>> files_;
};

}  // namespace epiphyte::core
