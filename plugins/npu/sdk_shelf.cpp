#include "plugins/npu/sdk_shelf.h"

#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/npu/client/library.h"

namespace epiphyte::npu {

SdkShelf::SdkShelf(std::filesystem::path directory, std::string usual)
    : directory_(std::move(directory)), usual_(std::move(usual)) {}

std::filesystem::path SdkShelf::PathOf(std::string_view named) const {
  if (named.empty()) return directory_ / LibraryFileName("epiphyte_npusim");
  const std::filesystem::path path(named);
  if (path.is_absolute()) return path;
  if (path.has_parent_path() || named == "." || named == "..")
    kit::FailArgument("option 'sdk' is '", named,
                      "'; an absolute path expected, or the name of a file beside the plugin, in ",
                      directory_.string());
  return directory_ / path;
}

std::shared_ptr<const Sdk> SdkShelf::Open(std::string_view named) {
  const std::filesystem::path path = PathOf(named.empty() ? usual_ : named);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Sdk>& sdk = opened_[path];
  if (sdk == nullptr) sdk = Sdk::Open(path);
  return sdk;
}

}  // namespace epiphyte::npu
