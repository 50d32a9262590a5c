// OutputFile: one file of a context model while it is written. It is staged beside its target, or written through an
// application's store. Size and digest are computed on the way.
//
//   OutputFile file(folder / "model_cpu.bin", nullptr);
//   file.Write(data, size);
//   file.End();
//   … under the folder's lock …
//   if (file.Look() == OutputFile::kAbsent) file.Publish(/*overwrite=*/false);
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/hash.h"
#include "core/base/staged_file.h"
#include "core/context/context_store.h"

namespace epiphyte::core {

class OutputFile {
 public:
  // With a null `store` a file is written; otherwise the store gets the target's file name. `on_progress` is called
  // repeatedly while bytes are written, made durable and compared; it must live that long.
  OutputFile(std::filesystem::path target, ContextStore* store, ProgressCallback on_progress = {});

  void Write(const void* data, uint64_t size);
  // Ends writing. The data is durable then, but not yet visible.
  void End();

  // Gives the published file the access rights of `other`.
  void TakeRightsOf(const std::filesystem::path& other);

  const std::filesystem::path& target() const { return target_; }
  std::string name() const { return target_.filename().string(); }
  uint64_t size() const { return size_; }
  const std::string& xxh128() const { return xxh128_; }  // valid after End
  bool IsStored() const { return store_ != nullptr; }    // whether it goes to a store instead of a file
  bool ended() const { return !xxh128_.empty(); }

  // State of the target's name at this moment, compared byte by byte with what was written.
  enum Existing { kAbsent, kSame, kDifferent };
  Existing Look() const;
  // Puts the file in place. Throws FAIL; then nothing has changed.
  void Publish(bool overwrite);

 private:
  std::filesystem::path target_;
  ContextStore* store_;
  ProgressCallback on_progress_;
  uint64_t unreported_ = 0;
  std::unique_ptr<StagedFile> staged_;
  std::unique_ptr<ContextStore::Writer> writer_;
  Xxh128Stream digest_;
  std::string xxh128_;
  uint64_t size_ = 0;
};

}  // namespace epiphyte::core
