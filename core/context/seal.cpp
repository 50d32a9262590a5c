#include "core/context/seal.h"

#include <system_error>

#include "core/base/error.h"
#include "core/base/folder_lock.h"
#include "core/base/mapped_file.h"
#include "core/base/staged_file.h"
#include "core/onnx/metadata_entry.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/model_writer.h"

namespace epiphyte::core {
namespace {

constexpr size_t kDigits = 32;  // of an XXH3-128

}  // namespace

void SealWriter::Write(const void* data, uint64_t size) {
  digest_.Update(data, size);
  sink_(data, size);
}

void SealWriter::Finish() {
  const std::string entry = MetadataEntry(kSealKey, digest_.Finish());
  sink_(entry.data(), entry.size());
}

uint64_t SizeWithoutSeal(const void* data, uint64_t size) {
  const auto seal = LastMetadataEntry({static_cast<const char*>(data), size}, kSealKey, kDigits);
  return seal ? seal->offset : size;
}

SealState CheckSeal(const void* data, uint64_t size, const Pulse& pulse) {
  const auto seal = LastMetadataEntry({static_cast<const char*>(data), size}, kSealKey, kDigits);
  if (!seal) return SealState::kNone;
  return seal->value == Xxh128OfMapping(data, seal->offset, nullptr, pulse) ? SealState::kIntact : SealState::kBroken;
}

void RequireSeal(const void* data, uint64_t size, const Metadata& metadata, std::string_view what, const Pulse& pulse) {
  constexpr std::string_view kAdvice =
      "restore the file or compile the model again; if you changed it on purpose, renew the seal with ResealContext or "
      "`epiphyte verify --reseal`";
  switch (CheckSeal(data, size, pulse)) {
    case SealState::kIntact: return;
    case SealState::kBroken:
      Fail(StatusCode::kInvalidGraph, "{} was changed after it was written: its seal doesn't fit its bytes; {}", what,
           kAdvice);
    case SealState::kNone: break;
  }
  // A model that lost the entry with the version has other entries of ours.
  const auto version = metadata.find(std::string(kContextVersionKey));
  const bool before_seals = version != metadata.end() && version->second == "1";
  if (HasRecords(metadata) && !before_seals) {
    Fail(StatusCode::kInvalidGraph,
         "{} has no seal at its end, where context models of version 2 and later have one: it was changed or cut off; "
         "{}",
         what, kAdvice);
  }
}

void Reseal(const std::filesystem::path& path) {
  // Through a link: a file in the link's place would no longer be beside the payloads that are links like it.
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  const std::filesystem::path& model = real.empty() ? path : real;
  const FolderLock lock(model.parent_path(), FolderLock::kExclusive);
  const auto file = MappedFile::Open(model);
  uint64_t size = SizeWithoutSeal(file->data(), file->size());
  ReadOptions options;
  options.infer = false;
  Model read = ReadModelMemory(file->data(), size, file, options);
  const bool foreign_seal = read.metadata.erase(std::string(kSealKey)) != 0;

  StagedFile staged(model);
  SealWriter writer([&](const void* data, uint64_t bytes) { staged.Write(data, bytes); });
  if (foreign_seal) {
    // Another tool moved the seal away from the end; the model is written again without it.
    WriteModel(read, {}, [&](const void* data, uint64_t bytes) { writer.Write(data, bytes); });
  } else {
    writer.Write(file->data(), size);
  }
  writer.Finish();
  file->RequireIntact();
  std::filesystem::permissions(staged.staged_path(), std::filesystem::status(model, ignored).permissions(), ignored);
  staged.Commit(/*overwrite=*/true);
}

}  // namespace epiphyte::core
