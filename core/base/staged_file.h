// StagedFile: writes a file beside its target and puts it in place in one step.
//
// Nothing under the target's name changes until Commit(); without Commit() the staged bytes are removed. Commit syncs
// the data, renames the file, and syncs the folder. To publish a set of files, commit the file that refers to the
// others last. The staged name starts with a dot. The file is locked while it is written, so that files of killed
// processes can be told from files of running ones.
//
// Only regular files are replaced. A symbolic link is never followed: the file replaces it, unless the link leads to
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
  // Throws FAIL, naming the folder, when it can't be written. Throws INVALID_ARGUMENT when the target exists and is no
  // file.
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
  // Makes the data durable without publishing it; otherwise Commit does so. `on_progress` reports the bytes that are
  // durable.
  void Sync(const ProgressCallback& on_progress = {});
  // With `overwrite` false an existing target is an error, even one that appears during the call.
  void Commit(bool overwrite);

  // Checks whether `target` can be written, as far as possible without writing: for operations that take long before
  // they write. Throws what the constructor and Commit would throw.
  static void CheckTarget(const std::filesystem::path& target);
  // Removes staged files in `folder` that ended processes left behind. Never throws, because leftover files do no harm.
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
