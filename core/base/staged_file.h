// StagedFile: writes a file beside its target and puts it in place in one step.
//
// Until Commit() nothing under the target's name changes; without Commit() the staged bytes are removed. Commit syncs
// the data, renames, and syncs the folder. A set of files is published by committing the one that refers to the others
// last. The staged name starts with a dot. The file is locked while it is written, so that what a killed process left
// behind can be told from what a living one is writing.
//
// Only regular files are replaced. A symbolic link is never followed: a file takes its place, unless it leads to
// something that is no regular file.
//
//   StagedFile file(target);
//   file.Write(data, size);
//   file.Commit(/*overwrite=*/false);
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/progress_callback.h"
#include "core/base/remove_on_exit.h"

namespace epiphyte::core {

class StagedFile {
 public:
  // Throws FAIL when the folder can't be written, naming it, and INVALID_ARGUMENT when the target is there and no file.
  explicit StagedFile(std::filesystem::path target);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  const std::filesystem::path& target() const { return target_; }
  const std::filesystem::path& staged_path() const { return staged_; }
  uint64_t size() const { return size_; }

  // Throws FAIL with the system's reason (disk full, …).
  void Write(const void* data, uint64_t size);
  // Writes zeros up to a multiple of `alignment`.
  void Align(uint64_t alignment);
  // Makes the data durable without publishing it; Commit does it if this did not. `on_progress` beats with the bytes
  // that are.
  void Sync(const ProgressCallback& on_progress = {});
  // With overwrite false an existing target is an error, also when it appears at this very moment.
  void Commit(bool overwrite);

  // Whether `target` can be written, as far as can be known without writing: for work that takes long before it writes.
  // Throws what the constructor and Commit would.
  static void CheckTarget(const std::filesystem::path& target);
  // Removes staged files in `folder` whose process ended without removing them. Never throws: they are in nobody's way.
  static void RemoveAbandoned(const std::filesystem::path& folder) noexcept;

 private:
  std::filesystem::path target_;
  std::filesystem::path staged_;
  RemoveOnExit remove_on_exit_;
  int fd_ = -1;
  uint64_t size_ = 0;
  bool synced_ = false;
};

}  // namespace epiphyte::core
