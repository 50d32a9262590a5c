// MappedFile: a file's bytes, read-only, shared, paged in on demand.
//
//   std::shared_ptr<const MappedFile> file = MappedFile::Open(path);
//   Parse(file->data(), file->size());
//   file->RequireIntact();
//
// A file that another program truncates while it is mapped reads as zeros from there on (mapping_guard.h). Who has read
// one, and before he acts on it, says RequireIntact; a digest of such bytes is one of nothing. UsedFiles remembers what
// a longer piece of work relies on.
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
  // Only regular files. Throws NO_SUCHFILE when there is none, INVALID_ARGUMENT when it is not a regular file, FAIL
  // when the system refuses. An empty file has data() == nullptr and size() == 0.
  static std::shared_ptr<const MappedFile> Open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

  // Gives the memory of the pages read so far back to the system; reading them again brings them back from the file.
  void ReleasePages() const;

  // Throws FAIL, naming the file, when bytes were read that the file no longer had, or when it is shorter now.
  void RequireIntact() const { state_->RequireIntact(); }
  // XXH3-128 of all bytes; they were all there. `pool`, which may be null, helps.
  std::string Digest(ThreadPool* pool, const ProgressCallback& on_progress = {}) const;

 private:
  friend class UsedFiles;
  // What stays known of a mapping when it is gone.
  struct State {
    std::filesystem::path path;
    uint64_t size = 0;
    uint64_t device = 0;
    uint64_t inode = 0;
    MappingMark mark;

    void RequireIntact() const;
    void RequireNothingLost() const;  // by the mark alone, without asking the system
  };

  MappedFile() = default;
  std::filesystem::path path_;
  const uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::optional<GuardedMapping> guarded_;
};

// The mapped files that a piece of work relies on. Keeps none of them mapped.
class UsedFiles {
 public:
  void Add(const MappedFile& file) { files_.push_back(file.state_); }
  void Add(const UsedFiles& others) { files_.insert(files_.end(), others.files_.begin(), others.files_.end()); }

  // MappedFile::RequireIntact of each.
  void RequireIntact() const;
  // As RequireIntact, but sees only what was read and not there. Costs one relaxed load as long as no file of the
  // process was ever truncated.
  void RequireNothingLost() const {
    if (AnyMappingLost()) LookAtMarks();
  }

 private:
  void LookAtMarks() const;
  std::vector<std::shared_ptr<const MappedFile::State>> files_;
};

}  // namespace epiphyte::core
