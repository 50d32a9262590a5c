// ExternalData: the files beside a model that hold its weights. Each is resolved by the rules of core/base/safe_path.h,
// mapped once, and stays mapped as long as a constant views it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/mapped_file.h"
#include "core/graph/constant.h"

namespace epiphyte::core {

class ExternalData {
 public:
  // A model in memory without a folder: any use throws INVALID_ARGUMENT.
  ExternalData() = default;
  static ExternalData BesideModel(std::filesystem::path model);
  static ExternalData InFolder(std::filesystem::path folder);

  struct Bytes {
    const uint8_t* data = nullptr;
    std::shared_ptr<const MappedFile> file;
  };
  // The bytes of `location`; `what` names the tensor in messages. Throws INVALID_GRAPH when they lie outside the file.
  Bytes Find(const ExternalLocation& location, std::string_view what);

  // `length` unset: to the end of the file. Throws INVALID_GRAPH for an offset past the end.
  uint64_t LengthFrom(const std::string& file, uint64_t offset, std::string_view what);

 private:
  const std::shared_ptr<const MappedFile>& Open(const std::string& name, std::string_view what);

  std::filesystem::path model_;
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;
};

}  // namespace epiphyte::core
