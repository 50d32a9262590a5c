// SdkCache: opens each vendor SDK once and shares it between the sessions of the plugin.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "plugins/npu/client/sdk.h"

namespace epiphyte::npu {

// [any thread]
class SdkCache {
 public:
  // `directory` is the plugin's folder. An SDK that is named by a file name is looked for there. `default_sdk` is
  // opened when a session names none; "" stands for the simulator.
  SdkCache(std::filesystem::path directory, std::string default_sdk);

  // `named` is an absolute path, a file name, or "" for the default SDK. Throws INVALID_ARGUMENT for other names, and
  // whatever Sdk::Open throws.
  std::shared_ptr<const Sdk> Open(std::string_view named);

 private:
  std::filesystem::path PathOf(std::string_view named) const;

  const std::filesystem::path directory_;
  const std::string default_sdk_;
  std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<const Sdk>> opened_;
};

}  // namespace epiphyte::npu
