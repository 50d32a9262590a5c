#include "core/context/output_file.h"

#include "core/base/error.h"
#include "core/base/mapped_file.h"

namespace epiphyte::core {

OutputFile::OutputFile(std::filesystem::path target, ContextStore* store) : target_(std::move(target)), store_(store) {
  if (store_ == nullptr) {
    staged_ = std::make_unique<StagedFile>(target_);
    return;
  }
  writer_ = store_->Create(name());
  if (!writer_) Fail(StatusCode::kFail, "the context store gave no writer for '{}'", name());
}

void OutputFile::Write(const void* data, uint64_t size) {
  digest_.Update(data, size);
  size_ += size;
  if (staged_) {
    staged_->Write(data, size);
  } else {
    writer_->Write(data, size);
  }
}

void OutputFile::End() {
  if (staged_) staged_->Sync();
  xxh128_ = digest_.Finish();
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
    return found->size() == size_ && found->Digest(nullptr) == xxh128_ ? kSame : kDifferent;
  } catch (const Error&) {
    return kDifferent;  // what can't be read isn't what was written
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
