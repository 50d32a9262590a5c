#include "plugins/npu/sdk_cache.h"

#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/npu/client/library.h"

namespace epiphyte::npu {

SdkCache::SdkCache(std::filesystem::path directory, std::string default_sdk)
    : directory_(std::move(directory)), default_sdk_(std::move(default_sdk)) {}

std::filesystem::path SdkCache::PathOf(std::string_view named) const {
  if (named.empty()) return directory_ / LibraryFileName("epiphyte_npusim");
  const std::filesystem::path path(named);
  if (path.is_absolute()) return path;
  if (path.has_parent_path() || named == "." || named == "..")
    kit::FailArgument("option 'sdk' is '", named,
                      "'; an absolute path expected, or the name of a file beside the plugin, in ",
                      directory_.string());
  return directory_ / path;
}

std::shared_ptr<const Sdk> SdkCache::Open(std::string_view named) {
  const std::filesystem::path path = PathOf(named.empty() ? default_sdk_ : named);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Sdk>& sdk = opened_[path];
  if (sdk == nullptr) sdk = Sdk::Open(path);
  return sdk;
}

}  // namespace epiphyte::npu
