// MappedFile: a file's bytes, read-only, shared, paged in on demand.
//
//   std::shared_ptr<const MappedFile> file = MappedFile::Open(path);
//   Parse(file->data(), file->size());
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace epiphyte::core {

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

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  const uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace epiphyte::core
