// OutputFile: one file of a context model while it is written: staged beside its target, or through an application's
// store. Size and digest are taken on the way.
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
  // `store` null: a file. The store knows it by the target's file name. `on_progress` beats while bytes are written,
  // made durable and compared; it must live as long as something of that is done.
  OutputFile(std::filesystem::path target, ContextStore* store, ProgressCallback on_progress = {});

  void Write(const void* data, uint64_t size);
  // Nothing is written after it. The data is durable, but nobody sees it.
  void End();

  // Who may read and write what is published, as it is for `other`.
  void TakeRightsOf(const std::filesystem::path& other);

  const std::filesystem::path& target() const { return target_; }
  std::string name() const { return target_.filename().string(); }
  uint64_t size() const { return size_; }
  const std::string& xxh128() const { return xxh128_; }  // after End
  bool IsStored() const { return store_ != nullptr; }    // not a file
  bool ended() const { return !xxh128_.empty(); }

  // What is under the target's name at this moment, compared byte by byte with what was written.
  enum Existing { kAbsent, kSame, kDifferent };
  Existing Look() const;
  // Puts it in place. Throws FAIL; then nothing has changed.
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
