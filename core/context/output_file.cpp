#include "core/context/output_file.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/mapped_file.h"

namespace epiphyte::core {

OutputFile::OutputFile(std::filesystem::path target, ContextStore* store, ProgressCallback on_progress)
    : target_(std::move(target)), store_(store), on_progress_(std::move(on_progress)) {
  if (store_ == nullptr) {
    staged_ = std::make_unique<StagedFile>(target_);
    return;
  }
  writer_ = store_->Create(name());
  if (!writer_) Fail(StatusCode::kFail, "the context store gave no writer for '{}'", name());
}

void OutputFile::Write(const void* data, uint64_t size) {
  const auto* next = static_cast<const char*>(data);
  for (uint64_t left = size; left > 0;) {
    const uint64_t piece = std::min(left, kBytesPerReport - unreported_);
    digest_.Update(next, piece);
    if (staged_) {
      staged_->Write(next, piece);
    } else {
      writer_->Write(next, piece);
    }
    next += piece;
    left -= piece;
    size_ += piece;
    unreported_ += piece;
    if (unreported_ < kBytesPerReport) continue;
    unreported_ = 0;
    ReportProgress(on_progress_, size_, 0, name());
  }
}

void OutputFile::End() {
  if (staged_) staged_->Sync(on_progress_);
  xxh128_ = digest_.Finish();
}

void OutputFile::TakeRightsOf(const std::filesystem::path& other) {
  if (!staged_) return;
  std::error_code ignored;
  std::filesystem::permissions(staged_->staged_path(), std::filesystem::status(other, ignored).permissions(), ignored);
}

OutputFile::Existing OutputFile::Look() const {
  if (store_ != nullptr) {
    if (!store_->Exists(name())) return kAbsent;
    const ContextStore::Bytes found = store_->Open(name());
    return found.size == size_ && Xxh128(found.data, found.size) == xxh128_ ? kSame : kDifferent;
  }
  std::error_code error;
  const auto status = std::filesystem::symlink_status(target_, error);
  if (!std::filesystem::exists(status)) return kAbsent;
  if (!std::filesystem::is_regular_file(status)) return kDifferent;
  try {
    const auto found = MappedFile::Open(target_);
    return found->size() == size_ && found->Digest(nullptr, on_progress_) == xxh128_ ? kSame : kDifferent;
  } catch (const Error&) {
    return kDifferent;  // an unreadable file isn't the one that was written
  }
}

void OutputFile::Publish(bool overwrite) {
  if (staged_) {
    staged_->Commit(overwrite);
  } else {
    writer_->Commit();
  }
}

}  // namespace epiphyte::core
