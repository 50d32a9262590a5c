// ExternalData: the files beside a model that hold its weights. Names are resolved by the rules of
// core/base/safe_path.h. Each file is mapped once, and stays mapped as long as a constant views it. An application may
// supply the bytes itself (Redirect).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/mapped_file.h"
#include "core/graph/constant.h"

namespace epiphyte::core {

// The bytes of one external data file.
struct ExternalFile {
  const uint8_t* data = nullptr;
  uint64_t size = 0;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const MappedFile> mapping = nullptr;  // null when the application supplies the bytes
};

class ExternalData {
 public:
  // For a model in memory without a folder: any use throws INVALID_ARGUMENT.
  ExternalData() = default;
  static ExternalData BesideModel(std::filesystem::path model);
  static ExternalData InFolder(std::filesystem::path folder);

  // Takes files from `open`. A null owner in its result means that the file is read from the file system. May be null.
  void Redirect(std::function<ExternalFile(const std::string& name)> open) { open_ = std::move(open); }
  // `check` is called with each file before its first use, and throws to refuse it. May be null.
  void Check(std::function<void(const std::string& name, const ExternalFile& file)> check) {
    check_ = std::move(check);
  }

  struct Bytes {
    const uint8_t* data = nullptr;
    std::shared_ptr<const void> file;
  };
  // The bytes of `location`; `what` names the tensor in messages. Throws INVALID_GRAPH when they lie outside the file.
  Bytes Find(const ExternalLocation& location, std::string_view what);

  // `length` unset: to the end of the file. Throws INVALID_GRAPH for an offset past the end.
  uint64_t LengthFrom(const std::string& file, uint64_t offset, std::string_view what);

 private:
  const ExternalFile& Open(const std::string& name, std::string_view what);

  std::filesystem::path model_;
  std::filesystem::path folder_;
  std::function<ExternalFile(const std::string& name)> open_;
  std::function<void(const std::string& name, const ExternalFile& file)> check_;
  std::map<std::string, ExternalFile, std::less<>> files_;
};

}  // namespace epiphyte::core
