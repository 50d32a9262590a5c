// The SDKs that a plugin has opened: each once, for all of its sessions.
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
class SdkShelf {
 public:
  // `directory`: the plugin's, where libraries are looked for that are named by a file name. `usual`: named where
  // nobody names one; "": the simulator.
  SdkShelf(std::filesystem::path directory, std::string usual);

  // By an absolute path or a file name; "": the usual one. Throws INVALID_ARGUMENT for other names, and what Sdk::Open
  // throws.
  std::shared_ptr<const Sdk> Open(std::string_view named);

 private:
  std::filesystem::path PathOf(std::string_view named) const;

  const std::filesystem::path directory_;
  const std::string usual_;
  std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<const Sdk>> opened_;
};

}  // namespace epiphyte::npu
